// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import LibAV
internal import Media

/// MPEG-TS by libavformat. Each fragment ends with whole packets, so that a file can be cut off behind any of them; all
/// files of a recording have one clock, so that they can be put one behind the other.
struct TransportStreamContainer: SegmentContainer {
    /// What libavformat hands out; a class, because its callback and this container both reach it.
    private final class Outbox {
        var bytes: [UInt8] = []
        /// Nil in a stream without splice information.
        var splices: SpliceTables?

        /// Takes what libavformat made.
        func take(_ made: UnsafeRawBufferPointer) {
            if let splices { bytes += splices.announced([UInt8](made)) } else { bytes.append(contentsOf: made) }
        }
    }

    private let outbox = Outbox()
    private let muxer: Muxer
    private let path: String
    /// Splice information that goes with the next fragment.
    private var splices: [EncodedPacket] = []
    private static let delay = Duration.milliseconds(50)
    /// Ticks of 90 kHz that all times move by, so that none is negative: the decoding time of a program's first frame is
    /// less than this before its zero. The same for all files.
    private static let shift: Int64 = 3 * 90_000

    /// A stream has no edit list: a packet of audio more in front would be heard.
    let hidesPreRoll = false

    /// `path` is for error texts.
    init(_ settings: SegmentFileSettings, path: String) throws(FileFailure) {
        self.path = path
        var options = Muxer.Options(format: "mpegts")
        // One frame of audio in a PES packet, so that none waits for more and each has its own time; tables every
        // 100 ms.
        options.values = [
            "pes_payload_size": "0", "pat_period": "0.1", "pcr_period": "20", "mpegts_flags": "initial_discontinuity",
        ]
        options.metadata = ["service_name": settings.tags.channel, "service_provider": TransportStreamFile.provider]
        options.maximumDelay = Self.delay
        if settings.description.hasSplices { outbox.splices = SpliceTables() }
        do {
            muxer = try Muxer(options, description: settings.description) { [outbox] bytes in
                outbox.take(bytes)
            }
        } catch {
            throw FileFailure("write", path, text: "\(error)")
        }
    }

    private func takeBytes() -> [UInt8] {
        muxer.flush()
        defer { outbox.bytes.removeAll(keepingCapacity: true) }
        return outbox.bytes
    }

    func head() -> [UInt8] { takeBytes() }

    mutating func gather(_ data: EncodedPacket) {
        if data.description.codec == .scte35 { splices.append(data) }
    }

    mutating func fragment(
        _ videoPackets: [EncodedPacket], _ audioPackets: [EncodedPacket], next: EncodedPacket?, at offset: Int64
    ) throws(FileFailure) -> [SharedBytes] {
        let packets = (videoPackets + audioPackets + splices).sorted { $0.dtsNanoseconds < $1.dtsNanoseconds }
        splices = []
        do {
            for packet in packets {
                if packet.track == .data { write(splice: packet.payload.array) }
                try muxer.write(packet, shift: Self.shift)
            }
        } catch {
            throw FileFailure("write", path, text: "\(error)")
        }
        return [SharedBytes(takeBytes())]
    }

    private func write(splice section: [UInt8]) {
        // libavformat moves all times by twice the delay.
        let later = Self.shift + 2 * TimeBase.mpegTS.ticks(Self.delay)
        guard let section = SpliceSection.shifted(section, by: later) else { return }
        muxer.flush()
        outbox.bytes += outbox.splices?.packets(of: section) ?? []
    }

    func wrote() {}

    func appendIndex(
        _ file: FileDescriptor, mediaEnd: Int64, ending: SegmentEnding
    ) throws(FileFailure) -> Int64 { mediaEnd }

    func seal(_ file: FileDescriptor, mediaEnd: Int64, size: Int64, isDurable: Bool) throws(FileFailure) {
        // Gives back the space that was reserved behind the end.
        try file.truncate(to: size)
        if isDurable { try file.synchronise() }
    }
}
