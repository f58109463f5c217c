// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Glibc
internal import MP4
internal import Media

/// The settings of a new file.
struct SegmentFileSettings {
    var directory: String
    var name: SegmentName
    var format = RecordFormat.hybrid
    var description: StreamDescription
    var tags: MovieTags
    /// The media time in one fragment. A crash loses little more than this.
    var fragmentDuration: Duration
    /// Whether closing the file waits until the file is on the disk.
    var isDurable = true
    /// The maximum size of the file in bytes, unless its file system or the process has a lower limit; nil means that
    /// only those limits apply.
    var largestBytes: Int64?
}

/// One file of a recording. It gathers packets and writes one fragment at a time, each in one call. Its
/// ``SegmentContainer`` decides what a fragment's bytes are and how the file is completed.
final class SegmentFile {
    /// The file's name, from which its paths below the record directory are made.
    let name: SegmentName
    /// Bytes written to the file.
    private(set) var bytes: Int64 = 0
    /// Frames written to the file.
    private(set) var frames = 0
    /// End of the frames on disk.
    private(set) var recordedEnd: ProgramInstant
    /// Start of the first visible frame.
    let start: ProgramInstant
    /// When the first frame was on air.
    var time: UTCTime { settings.tags.start }
    /// Audio samples on disk, including the hidden ones before the first frame.
    private var audioSamples: Int64 = 0
    /// The number of packets on disk.
    private var packets: Int64 = 0
    /// The maximum size of the file, in bytes.
    private let limit: Int64
    /// Whether the recorder has already requested the end of the file, because the file is nearly full.
    var isCutRequested = false
    /// Why the file ends; the recorder sets it before it closes the file.
    var ending = SegmentEnding.error
    /// The chapters for marked moments; the recorder sets them before it closes the file.
    var chapters: [Chapter] = []

    private let settings: SegmentFileSettings
    /// The file's directory. It is kept open, so that the file is still reached if another file system is mounted over
    /// the directory's path.
    private let parent: FileDescriptor
    /// The file itself; the synchroniser uses it to make the open file durable.
    let descriptor: FileDescriptor
    private var container: any SegmentContainer
    private var preallocation: Preallocation
    private var videoPackets: [EncodedPacket] = []
    private var audioPackets: [EncodedPacket] = []
    private var order = PresentationOrder()
    private let fragmentDuration: Duration
    /// The track whose packets end fragments. If it is silent, packets of the other track end them, later by
    /// ``patience``.
    private let leading: TrackKind
    private let audioBase: TimeBase
    private let preRoll: EncodedPacket?
    /// Decoding time at which the current fragment ends.
    private var fragmentEnd: ProgramInstant
    /// The time since which packets have been pending: the arrival of the first of them or, if the last fragment held
    /// frames back, the time at which it was written. Nil if all packets are on disk.
    private var pendingSince: MonotonicInstant?
    /// Decoding time of the last packet.
    private var newest = ProgramInstant.distantPast
    /// Whether anything visible was written.
    private(set) var showsAnything = false
    /// The program time from which on the media in this file is hidden, because the next file shows it; nil if no such
    /// time was set.
    private var shownEnd: ProgramInstant?
    /// The file's size with its index, once the index is written.
    private var finalSize: Int64?

    /// The number of consecutive fragments that the timeout ended and that held frames back for the next fragment.
    private var heldBack = 0
    /// The maximum number of consecutive fragments that hold frames back, which is about 2 s if a fragment lasts 500
    /// ms. Frames after a missing frame are held back because the sender might have broken off; the file should then
    /// end before these frames. The number is limited because frames of a slow track must not wait for long.
    private static let longestHold = 4
    /// The assumed size of a file's index, in bytes: a fixed part, and a part for each packet (measured: 13 to 20
    /// bytes).
    private static let (indexBytes, indexBytesOfPacket): (Int64, Int64) = (64 << 10, 24)
    /// A file is nearly full when less than its maximum size divided by this number is left. A sixteenth is enough for
    /// several GOPs.
    private static let lastPart: Int64 = 16

    /// How long after its end a fragment still waits for the leading track if that track is silent. The time is longer
    /// than the distance between the tracks in most programs, but so short that a crash loses at most 0.6 s.
    static let patience: Duration = .milliseconds(50)

    /// Creates the file in its directory, `parent`, and writes its head. Throws if the file exists.
    init(_ settings: SegmentFileSettings, in parent: FileDescriptor, start: SegmentStart) throws(FileFailure) {
        name = settings.name
        self.settings = settings
        self.start = start.time
        recordedEnd = self.start
        let description = settings.description
        leading = description.leadingKind
        audioBase = description.audio?.audioFormat?.timeBase ?? .nanoseconds
        preRoll = start.preRoll
        fragmentDuration = settings.fragmentDuration
        fragmentEnd = start.keyframe.programDts + fragmentDuration
        preallocation = Preallocation(bitrate: description.bitrate)
        let path = "\(settings.directory)/\(settings.name.open)"
        switch settings.format {
        case .hybrid, .fragmented: container = MovieContainer(settings, start: start)
        case .ts: container = try TransportStreamContainer(settings, path: path)
        }
        self.parent = parent
        descriptor = try parent.create(entry: settings.name.open)
        limit = min(descriptor.largestSize(), settings.largestBytes ?? .max)
        // The lock prevents this process and others from recovering this file. If a recovery was faster and has set the
        // empty file aside, the recorder chooses another name.
        guard descriptor.lockCreated() else { throw FileFailure("create", path, code: EEXIST) }
        try writeHead()
    }

    // The lock is released explicitly. The synchroniser's thread can keep the descriptor open for longer, and a lock
    // that is still set would prevent recovery.
    deinit { descriptor.unlock() }

    private func writeHead() throws(FileFailure) {
        do {
            let head = SharedBytes(try container.head())
            try preallocation.reserve(Int64(head.count), at: 0, in: descriptor)
            try descriptor.write([head], at: 0)
            bytes = Int64(head.count)
        } catch {
            // The file is removed, because it contains no media.
            _ = try? parent.remove(entry: name.open)
            throw error
        }
    }

    /// Whether the file should end at the next keyframe, because its maximum size is nearly reached.
    var isNearlyFull: Bool { bytes + roomForIndex > limit - limit / Self.lastPart }

    private var roomForIndex: Int64 { Self.indexBytes + packets * Self.indexBytesOfPacket }

    /// The frames that were appended and are not on disk yet.
    var pendingVideo: [EncodedPacket] { videoPackets }

    /// If frames are missing before the last pending frames in presentation order, removes and returns those last
    /// frames. A file that ends here then has no gap. None of the remaining frames depends on a removed frame, because
    /// the remaining frames come earlier in decoding order.
    func dropDisordered() -> [EncodedPacket] {
        guard let whole = order.wholePrefix, whole < videoPackets.count else { return [] }
        let dropped = Array(videoPackets[whole...])
        videoPackets.removeSubrange(whole...)
        return dropped
    }

    private func appendVideo(_ packet: EncodedPacket) {
        videoPackets.append(packet)
        order.append(packet, count: videoPackets.count)
    }

    private func isPreRoll(_ audio: EncodedPacket) -> Bool { preRoll.map { audio.pts <= $0.pts } ?? false }

    /// Appends a packet. If the current fragment is full, writes this fragment first, and returns how long the writing
    /// took; otherwise returns nil. After a failure, the file ends with its last complete fragment and can only be
    /// closed.
    func append(_ packet: EncodedPacket, clock: some MonotonicClock) throws(FileFailure) -> Duration? {
        defer {
            if pendingSince == nil, hasPending { pendingSince = clock.now }
            newest = packet.programDts
        }
        let late = packet.track == leading ? .zero : Self.patience
        guard packet.programDts >= fragmentEnd + late, hasPending else {
            gather(packet)
            return nil
        }
        let elapsed = try writeFragment(next: packet, isByTime: packet.track != leading, clock: clock)
        let length = max(.nanoseconds(1), fragmentDuration)
        let passed = max(.zero, packet.programDts - fragmentEnd).inNanoseconds / length.inNanoseconds
        fragmentEnd += length * (passed + 1)
        gather(packet)
        return elapsed
    }

    /// The decoding time from which on a packet of the leading track causes the pending packets to be written; nil
    /// if no packet is pending. A packet of another track must be later by ``patience``.
    var collectsUntil: ProgramInstant? { hasPending ? fragmentEnd : nil }

    /// Returns how long the pending packets can still wait for the packet that ends their fragment; nil if no packet is
    /// pending.
    func wait(at now: MonotonicInstant) -> Duration? {
        pendingSince.map { max(.zero, $0 + fragmentDuration + Self.patience - now) }
    }

    /// Writes the pending packets as one fragment, even if the fragment is not full. Returns how long this took.
    func writePending(clock: some MonotonicClock) throws(FileFailure) -> Duration {
        let elapsed = try writeFragment(next: nil, isByTime: true, clock: clock)
        // If the fragment was at least half full, the following packets belong to the next fragment.
        if newest >= fragmentEnd - fragmentDuration / 2 { fragmentEnd += fragmentDuration }
        return elapsed
    }

    /// Writes the pending packets as one fragment. `isByTime` means that the packet of the leading track that should
    /// end the fragment has not arrived in time. Returns how long this took.
    private func writeFragment(
        next: EncodedPacket?, isByTime: Bool, clock: some MonotonicClock
    ) throws(FileFailure) -> Duration {
        let began = clock.now
        var held: [EncodedPacket] = []
        if isByTime, container.takesLateFrames, heldBack < Self.longestHold { held = dropDisordered() }
        heldBack = held.isEmpty ? 0 : heldBack + 1
        do throws(FileFailure) {
            try writeFragment(next: held.first ?? next)
        } catch {
            videoPackets += held
            throw error
        }
        if !held.isEmpty { order.wrotePrefix() }
        for frame in held { appendVideo(frame) }
        pendingSince = held.isEmpty ? nil : clock.now
        return clock.now - began
    }

    private var hasPending: Bool { !videoPackets.isEmpty || !audioPackets.isEmpty }

    private func gather(_ packet: EncodedPacket) {
        switch packet.track {
        case .video: appendVideo(packet)
        case .audio: if container.hidesPreRoll || !isPreRoll(packet) { audioPackets.append(packet) }
        case .data: container.gather(packet)
        }
    }

    /// Writes the pending packets as one fragment.
    private func writeFragment(next: EncodedPacket?) throws(FileFailure) {
        guard hasPending else { return }
        let nextFrame = next?.track == .video ? next : nil
        let pieces = try container.fragment(videoPackets, audioPackets, next: nextFrame, at: bytes)
        let total = pieces.reduce(Int64(0)) { $0 + Int64($1.count) }
        do throws(FileFailure) {
            try checkNames("write")
            // This throws if no space would be left for the file's index, because the file could then never be closed.
            guard bytes + total + roomForIndex <= limit else {
                throw FileFailure("write", descriptor.path, code: EFBIG)
            }
            try preallocation.reserve(total, at: bytes, in: descriptor)
            try descriptor.write(pieces, at: bytes)
        } catch {
            // If the truncation fails too, the next reader of the file ignores the incomplete tail.
            try? descriptor.truncate(to: bytes)
            throw error
        }
        container.wrote()
        // Frames before the file's start do not count: they are hidden, and are needed only for decoding.
        showsAnything = showsAnything || leading == .audio || videoPackets.contains { $0.programPts >= start }
        bytes += total
        frames += videoPackets.count
        packets += Int64(videoPackets.count + audioPackets.count)
        let ends = (leading == .video ? videoPackets : audioPackets).lazy.map(\.programEnd)
        recordedEnd = min(max(recordedEnd, ends.max() ?? .zero), shownEnd ?? .distantFuture)
        videoPackets.removeAll(keepingCapacity: true)
        order.wrote()
        audioSamples += audioPackets.reduce(0) { $0 + $1.timeBase.rescale($1.duration, to: audioBase) }
        audioPackets.removeAll(keepingCapacity: true)
        pendingSince = nil
    }

    /// Throws if the file was removed: writing to a removed file succeeds, but the data is lost.
    private func checkNames(_ operation: String) throws(FileFailure) {
        guard try descriptor.attributes().links > 0 else {
            throw FileFailure(operation, descriptor.path, text: "the file was removed")
        }
    }

    /// Hides everything from program time `time` on, because the next file shows it.
    func end(at time: ProgramInstant) {
        shownEnd = time
        recordedEnd = min(recordedEnd, time)
        container.end(at: time)
    }

    /// Writes the pending packets, before the file is closed properly.
    func flush() throws(FileFailure) { try writeFragment(next: nil) }

    /// The result of closing a file.
    enum Closing: Equatable {
        /// The file is complete.
        case finished(SegmentRecord)
        /// The file contained nothing visible and was removed.
        case empty
    }

    /// Writes the index after the media and releases the memory of the index. Does not wait for the disk. Does nothing
    /// if the file shows nothing, or if the index is already written.
    func appendIndex() throws(FileFailure) {
        guard showsAnything, finalSize == nil else { return }
        try checkNames("close")
        container.mark(chapters)
        finalSize = try container.appendIndex(descriptor, mediaEnd: bytes, ending: ending)
    }

    /// Completes the file and gives it its final name. How long this takes depends on the size of the tables, not on
    /// the amount of media. Waits for the disk, unless the settings say otherwise. After a failure the file keeps its
    /// open name, so that ``SegmentRecovery`` finds it again.
    func close() throws(FileFailure) -> Closing {
        try checkNames("close")
        try appendIndex()
        guard let size = finalSize else {
            _ = try parent.remove(entry: name.open)
            return .empty
        }
        try container.seal(descriptor, mediaEnd: bytes, size: size, isDurable: settings.isDurable)
        let fileName = try HybridFinish.rename(name, in: parent, isDurable: settings.isDurable)
        return .finished(record(fileName: fileName, bytes: size))
    }

    /// The record of what was written to the file. It is needed if the disk has not stored everything.
    var written: SegmentRecord { record(fileName: name.open, bytes: bytes) }

    private func record(fileName: String, bytes: Int64) -> SegmentRecord {
        let hidden = container.hidesPreRoll ? preRoll : nil
        let hiddenSamples = hidden.map { $0.timeBase.rescale($0.duration, to: audioBase) } ?? 0
        return SegmentRecord(
            fileName: fileName, channel: name.channel, sequence: name.sequence, start: settings.tags.start,
            programStart: start, programEnd: recordedEnd, frames: container.shown?.frames ?? frames,
            audioSamples: container.shown?.audioSamples ?? max(0, audioSamples - hiddenSamples), bytes: bytes,
            ending: ending, run: settings.tags.position?.run ?? "")
    }
}
