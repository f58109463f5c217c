// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import LibAV
internal import Media

/// Writes MPEG-TS. Each fragment consists of whole TS packets, so that a file can be cut after any fragment. All files
/// of a recording share one clock, so that they can be concatenated.
struct TransportStreamContainer: SegmentContainer {
    private let writer: TransportStreamWriter
    private let path: String
    /// Splice information for the next fragment.
    private var splices: [EncodedPacket] = []
    /// The offset that is added to all times, in ticks of 90 kHz, so that no time is negative. The first frame is
    /// decoded before program time 0, by less than this offset. The offset is the same for all files.
    private static let shift: Int64 = 3 * 90_000

    /// This is false, because a transport stream has no edit list, so an additional audio packet at its start would be
    /// audible.
    let hidesPreRoll = false

    /// This is false, because the stream's clock (PCR) is already later when late frames arrive, and writing them would
    /// make the clock go back.
    let takesLateFrames = false

    /// Creates a container for the tracks in the settings. `path` is the file's path in error messages.
    init(_ settings: SegmentFileSettings, path: String) throws(FileFailure) {
        self.path = path
        do {
            writer = try TransportStreamWriter(
                .init(service: settings.tags.channel, provider: TransportStreamFile.provider, isContinuation: true),
                description: settings.description)
        } catch {
            throw FileFailure("write", path, text: "\(error)")
        }
    }

    func head() -> [UInt8] { [] }

    mutating func gather(_ data: EncodedPacket) {
        if data.description.codec == .scte35 { splices.append(data) }
    }

    mutating func fragment(
        _ videoPackets: [EncodedPacket], _ audioPackets: [EncodedPacket], next: EncodedPacket?, at offset: Int64
    ) throws(FileFailure) -> [SharedBytes] {
        let packets = (videoPackets + audioPackets + splices).sorted { $0.programDts < $1.programDts }
        splices = []
        var bytes: [UInt8] = []
        do {
            for packet in packets {
                if packet.track == .data {
                    bytes += writer.write(splice: packet.payload.array, shift: Self.shift)
                } else {
                    for part in try writer.write(packet, shift: Self.shift) { bytes += part }
                }
            }
        } catch {
            throw FileFailure("write", path, text: "\(error)")
        }
        return [SharedBytes(bytes)]
    }

    func wrote() {}

    func appendIndex(
        _ file: FileDescriptor, mediaEnd: Int64, ending: SegmentEnding
    ) throws(FileFailure) -> Int64 { mediaEnd }

    func seal(_ file: FileDescriptor, mediaEnd: Int64, size: Int64, isDurable: Bool) throws(FileFailure) {
        // The truncation also releases the space that was reserved after the end of the file.
        try file.truncate(to: size)
        if isDurable { try file.synchronise() }
    }
}
