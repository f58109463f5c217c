// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import LibAV
internal import MP4
internal import Media

/// Passes the packets of one file's audio to a decoder, one after another. Used by one thread.
protocol AudioFeed: AnyObject {
    /// Sends the next packet to the decoder; after the last packet, sends the end of the stream. Throws
    /// ``AudioFeedFailure`` if the error concerns only this packet.
    func sendNext(to decoder: Decoder) throws
}

/// The error of a decoder that has refused a packet but can accept the next one.
struct AudioFeedFailure: Error {}

extension AudioFeed {
    /// Calls `send`; throws ``AudioFeedFailure`` for an error that the packet itself causes.
    fileprivate func sending(_ send: () throws(AVFailure) -> Void) throws {
        do throws(AVFailure) {
            try send()
        } catch {
            if error.isMissingLibrary { throw error }
            throw AudioFeedFailure()
        }
    }
}

/// The packets of a file, read by libavformat.
final class DemuxedAudio: AudioFeed {
    let stream: StreamInfo
    /// The files to be read, in order.
    private var files: [(demuxer: Demuxer, stream: StreamInfo)] = []

    /// How much audio is decoded before the first requested sample: a decoder needs one or two packets before its
    /// output is right.
    private static let preroll = Duration.milliseconds(200)
    /// The longest stretch of audio that is decoded only to skip it. If more audio must be skipped, the reader seeks.
    private static let stride = Duration.seconds(5)

    /// Creates a feed of the packets of `source`, from shortly before `start` on. `start` is in ticks of the stream. If
    /// `start` is at the beginning of the file, the last packets of `before` are included as well; `before` is the file
    /// whose audio `source` continues.
    init(
        _ source: StitchSource, _ audio: StitchSource.Audio, behind before: StitchSource? = nil, from start: Int64
    ) throws {
        let own = try Self.open(source, audio, from: start)
        stream = own.stream
        if let before, let last = before.audio, start - audio.range.lowerBound < stream.timeBase.ticks(Self.preroll) {
            files.append(try Self.open(before, last, from: last.range.upperBound))
        }
        files.append(own)
    }

    private static func open(
        _ source: StitchSource, _ audio: StitchSource.Audio, from start: Int64
    ) throws -> (demuxer: Demuxer, stream: StreamInfo) {
        let (demuxer, stream) = try StitchInspector.open(source, stream: audio.stream)
        if start - audio.range.lowerBound > stream.timeBase.ticks(stride) {
            try demuxer.seek(stream, to: start - stream.timeBase.ticks(preroll))
        }
        return (demuxer, stream)
    }

    func sendNext(to decoder: Decoder) throws {
        while let (demuxer, stream) = files.first {
            while let packet = try demuxer.readPacket() {
                guard packet.streamIndex == stream.index else { continue }
                return try sending { () throws(AVFailure) in try decoder.send(packet) }
            }
            files.removeFirst()
        }
        try decoder.send(nil)
    }
}

/// Packets of AAC that are read at the positions that the tables contain.
final class IndexedAudio: AudioFeed {
    private let file: FileDescriptor
    private let packets: [IndexedSample]
    private let track: TrackDescription
    private var next: Int

    /// The number of packets that are decoded before the first requested sample. A decoder's output for a packet is
    /// complete only when the next packet is decoded, too.
    private static let preroll = 2

    /// Creates a feed of the packets of `source`, from shortly before `start` on. `track` describes the packets, and
    /// `start` is in samples.
    init(_ source: StitchSource, _ audio: StitchSource.Audio, _ track: TrackDescription, from start: Int64) throws {
        file = try FileDescriptor.open(readOnly: source.path)
        (packets, self.track) = (audio.packets, track)
        let first = (start - (audio.packets.first?.pts ?? 0)) / AudioGrid.step
        next = max(0, Int(first) - Self.preroll)
    }

    func sendNext(to decoder: Decoder) throws {
        guard next < packets.count else { return try decoder.send(nil) }
        let sample = packets[next]
        next += 1
        let bytes = try file.read(at: sample.offset, count: Int(sample.size))
        let packet = EncodedPacket(
            of: track, pts: sample.pts, dts: sample.pts, duration: AudioGrid.step, isKeyframe: true,
            payload: SharedBytes(bytes))
        try sending { () throws(AVFailure) in try decoder.send(coded: packet) }
    }
}

/// Reads the windows of packets of AAC from their files. Used by one thread.
final class AACWindows {
    private let sources: [StitchSource]
    /// The open files, by their paths. Clips that are parts of the same file share one open file, because a process can
    /// have only some hundred files open.
    private var files: [String: FileDescriptor] = [:]
    private static let mostFiles = 64

    init(_ sources: [StitchSource]) { self.sources = sources }

    /// The window of a packet of a source; nil if the packet cannot be read or its window is unknown.
    func window(_ source: Int, _ packet: Int) -> AACWindow? {
        let path = sources[source].path
        guard let packets = sources[source].audio?.packets, packets.indices.contains(packet),
            let file = files[path] ?? (try? FileDescriptor.open(readOnly: path))
        else { return nil }
        if files[path] == nil, files.count >= Self.mostFiles { files = [:] }
        files[path] = file
        let sample = packets[packet]
        let bytes = try? file.read(at: sample.offset, count: Int(min(sample.size, AACWindow.headerSize)))
        return bytes.flatMap(AACWindow.init)
    }
}
