// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Media

/// What must be known to begin a file.
struct SegmentFileSettings {
    var directory: String
    var name: SegmentName
    var description: StreamDescription
    var tags: MovieTags
    /// How much media time a fragment holds: what a crash costs.
    var fragmentDuration: Duration
}

/// One file of a recording: fragmented MP4 while it is open, plain MP4 when it is closed ("hybrid").
///
/// `ftyp`, 16 bytes of `free`, `moov` with `mvex`, then a `moof` and an `mdat` for each half second, each written in
/// one call. At the close a complete `moov` is appended and the head is overwritten, so that the `free` becomes the
/// header of one `mdat` around everything up to the new `moov`: no media is copied.
final class SegmentFile {
    /// The file's name without a directory or extension.
    let name: SegmentName
    /// Bytes on disk.
    private(set) var bytes: Int64 = 0
    /// Pictures on disk.
    private(set) var frames = 0
    /// Where the pictures on disk end, in nanoseconds of program time.
    private(set) var recordedEnd: Int64
    /// The file's first picture, in nanoseconds of program time.
    let start: Int64
    /// Samples of sound on disk, without the hidden ones that precede the first picture.
    private(set) var audioSamples: Int64 = 0
    /// How the file ends; the recorder says so before it is closed.
    var ending = SegmentEnding.error

    private let settings: SegmentFileSettings
    private var directory: String { settings.directory }
    private let descriptor: FileDescriptor
    private var layout: MovieLayout
    private var tables: [UInt32: SampleTable] = [:]
    private var video: TrackWriter
    private var audio: TrackWriter
    private var order = PresentationOrder()
    private let fragmentDuration: Int64
    private let hiddenSamples: Int64
    private var fragmentEnd: Int64
    private var sequence: UInt32 = 0

    /// Creates the file, which must not exist, and writes its head.
    init(_ settings: SegmentFileSettings, start: SegmentStart) throws(FileFailure) {
        name = settings.name
        self.settings = settings
        self.start = start.keyframe.ptsNanoseconds
        recordedEnd = self.start
        layout = MovieLayout(description: settings.description, tags: settings.tags)
        let (picture, sound) = (layout.tracks[0], layout.tracks[1])
        video = TrackWriter(timescale: picture.timescale, firstDecodeTime: start.keyframe)
        layout.tracks[0].mediaTime = video.ticks(start.keyframe.pts, start.keyframe) - video.origin

        // The sound's timeline begins with the hidden packet; the picture's first frame is at `zero` on the same clock.
        let soundBase = TimeBase(1, Int32(sound.timescale))
        let zero = start.keyframe.timeBase.rescale(start.keyframe.pts, to: soundBase)
        var audio = TrackWriter(timescale: sound.timescale, origin: zero)
        if let first = start.firstSound {
            let begin = audio.ticks(first.pts, first)
            let hidden = start.preRoll ?? first
            audio.origin = min(begin, audio.ticks(hidden.pts, hidden))
            layout.tracks[1].emptyEdit = max(0, begin - zero)
            layout.tracks[1].mediaTime = begin - audio.origin
        }
        self.audio = audio
        hiddenSamples = start.preRoll.map { $0.timeBase.rescale($0.duration, to: soundBase) } ?? 0
        fragmentDuration = settings.fragmentDuration.inNanoseconds
        fragmentEnd = start.keyframe.dtsNanoseconds + fragmentDuration
        descriptor = try FileDescriptor.create("\(settings.directory)/\(settings.name.open)")
        // The lock keeps another process's recovery away; a file system without locks still records.
        _ = descriptor.lock()
        try writeHead()
    }

    private func writeHead() throws(FileFailure) {
        let head = SharedBytes(MovieBox.openHead + MovieBox.open(layout))
        do {
            try descriptor.write([head], at: 0)
        } catch {
            // Nothing of value is in it.
            unlink(descriptor.path)
            throw error
        }
        bytes = Int64(head.count)
    }

    /// Pictures that were appended and are not on disk yet.
    var pendingPictures: [EncodedPacket] { video.pending }

    /// Forgets the last pending pictures if some that are shown before them are missing, and returns them: a file that
    /// is to end here then shows no hole. What is kept was decoded earlier, so none of it depends on them.
    func dropDisordered() -> [EncodedPacket] {
        guard let whole = order.wholePrefix, whole < video.pending.count else { return [] }
        let dropped = Array(video.pending[whole...])
        video.pending.removeSubrange(whole...)
        return dropped
    }

    private func appendPicture(_ packet: EncodedPacket) {
        video.pending.append(packet)
        order.append(packet, count: video.pending.count)
    }

    /// Appends a packet; writes a fragment when one is full, and returns how long the writing took in nanoseconds.
    /// After a failure the file ends with its last whole fragment and can only be closed.
    func append(_ packet: EncodedPacket, clock: some MonotonicClock) throws(FileFailure) -> Int64? {
        guard packet.track == .video else {
            audio.pending.append(packet)
            return nil
        }
        guard packet.dtsNanoseconds >= fragmentEnd, !video.pending.isEmpty else {
            appendPicture(packet)
            return nil
        }
        let began = clock.now
        try writeFragment(next: packet)
        let elapsed = clock.now - began
        while fragmentEnd <= packet.dtsNanoseconds { fragmentEnd += max(1, fragmentDuration) }
        appendPicture(packet)
        return elapsed
    }

    /// Writes what is pending as one fragment. `next` is the picture that follows, whose decoding time says how long
    /// the last pending one lasts.
    private func writeFragment(next: EncodedPacket?) throws(FileFailure) {
        let runs = [
            Fragment.Run(track: layout.tracks[0], samples: video.entries(next: next)),
            Fragment.Run(track: layout.tracks[1], samples: audio.entries(next: nil)),
        ].filter { !$0.samples.isEmpty }
        guard !runs.isEmpty else { return }
        let (header, offsets) = Fragment(sequence: sequence &+ 1, runs: runs).encode()
        let payloads = video.pending.map(\.payload) + audio.pending.map(\.payload)
        let total = header.count + runs.reduce(0) { $0 + $1.bytes }
        do {
            try checkNames()
            try descriptor.write([SharedBytes(header)] + payloads, at: bytes)
        } catch {
            // If even this fails, the incomplete tail is dropped by whoever reads the file next.
            try? descriptor.truncate(to: bytes)
            throw error
        }
        sequence &+= 1
        for (run, offset) in zip(runs, offsets) {
            tables[run.track.id, default: SampleTable()].append(run.samples, at: UInt64(bytes) + UInt64(offset))
        }
        bytes += Int64(total)
        frames += video.pending.count
        let ends = video.pending.map { $0.timeBase.rescale($0.pts + $0.duration, to: .nanoseconds) }
        recordedEnd = max(recordedEnd, ends.max() ?? 0)
        video.pending.removeAll(keepingCapacity: true)
        order.wrote()
        audioSamples += audio.pending.reduce(0) { $0 + $1.timeBase.rescale($1.duration, to: audio.timeBase) }
        audio.pending.removeAll(keepingCapacity: true)
    }

    /// Writing into a file that someone removed succeeds, and all of it is lost.
    private func checkNames() throws(FileFailure) {
        guard try descriptor.attributes().links > 0 else {
            throw FileFailure("write", descriptor.path, text: "the file was removed")
        }
    }

    /// Writes what is pending; part of a proper end.
    func flush() throws(FileFailure) { try writeFragment(next: nil) }

    /// What became of a file at its close.
    enum Closing: Equatable {
        /// It is a plain MP4 of `bytes`.
        case finished(SegmentRecord)
        /// Nothing was recorded in it; it is removed.
        case empty
    }

    /// Makes the file a plain MP4 and gives it its final name. Takes as long as its tables are long, however much media
    /// it holds. After a failure it keeps the name of an open file, so that ``SegmentRecovery`` takes it up again.
    /// Without `isDurable` it does not wait for the disk.
    func close(isDurable: Bool = true) throws(FileFailure) -> Closing {
        guard try descriptor.attributes().links > 0 else {
            throw FileFailure("close", descriptor.path, text: "the file was removed")
        }
        guard sequence > 0 else {
            guard unlink(descriptor.path) == 0 else { throw FileFailure("remove", descriptor.path, code: errno) }
            return .empty
        }
        let size = try HybridFinish.complete(descriptor, layout, tables, mediaEnd: bytes, isDurable: isDurable)
        return .finished(record(fileName: try HybridFinish.rename(name, in: directory), bytes: size))
    }

    /// What was written, should it prove later that the disk has not kept all of it.
    var claim: SegmentClaim { SegmentClaim(from: start, to: recordedEnd, frames: frames, start: settings.tags.start) }

    private func record(fileName: String, bytes: Int64) -> SegmentRecord {
        SegmentRecord(
            fileName: fileName, channel: name.channel, sequence: name.sequence, start: settings.tags.start,
            programStart: start, programEnd: recordedEnd, frames: frames,
            audioSamples: max(0, audioSamples - hiddenSamples), bytes: bytes, ending: ending)
    }
}

/// The packets of one track that wait for their fragment, and the track's clock.
struct TrackWriter {
    /// The ticks at which the track's own timeline begins.
    var origin: Int64
    var pending: [EncodedPacket] = []
    let timeBase: TimeBase

    init(timescale: UInt32, origin: Int64) {
        timeBase = TimeBase(1, Int32(clamping: timescale))
        self.origin = origin
    }

    /// A track whose timeline begins when `packet` is decoded.
    init(timescale: UInt32, firstDecodeTime packet: EncodedPacket) {
        self.init(timescale: timescale, origin: 0)
        origin = ticks(packet.dts, packet)
    }

    /// A time of `packet` in ticks of the track. From the program's start, so that rounding does not add up.
    func ticks(_ time: Int64, _ packet: EncodedPacket) -> Int64 { packet.timeBase.rescale(time, to: timeBase) }

    /// What the tables say of the pending packets.
    func entries(next: EncodedPacket?) -> [SampleEntry] {
        pending.enumerated().map { index, packet in
            let decode = ticks(packet.dts, packet)
            let following = index + 1 < pending.count ? pending[index + 1] : next
            let end = following.map { ticks($0.dts, $0) } ?? ticks(packet.dts + packet.duration, packet)
            return SampleEntry(
                decodeTime: max(0, decode - origin), duration: UInt32(clamping: end - decode),
                compositionOffset: Int32(clamping: ticks(packet.pts, packet) - decode),
                size: UInt32(clamping: packet.payload.count), isSync: packet.isKeyframe)
        }
    }
}
