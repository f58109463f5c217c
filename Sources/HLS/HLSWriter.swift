// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import LibAV
package import Media
internal import Networking

/// Writes one run of an HLS output, or several runs in sequence if the coding changes: a header, segments and, after
/// each segment, the playlist.
///
/// libavformat makes the header and the fragments. Each fragment has its own muxer. A muxer with several fragments
/// would begin each fragment at the sum of the previous durations, whatever the packets' times are, because
/// `frag_discont` applies to its first fragment only. libavformat's HLS muxer is not used, for two reasons: it has one
/// header for all segments of a playlist, so segments of an earlier run with other codec settings would become
/// undecodable; and it continues after a failed write.
///
/// Not thread-safe; it blocks for as long as the file system does.
///
/// ```swift
/// let writer = try HLSWriter("/var/www/live", HLSOptions(), stream.description)
/// for packet in packets { try writer.write(packet) }
/// try writer.finish(isProgramOver: true)
/// ```
package final class HLSWriter {
    /// The muxer's output that is not in a file yet. It is a class because libavformat's callback uses it too.
    private final class Outbox {
        var bytes: [UInt8] = []
    }

    /// The most bytes that are collected for a fragment. Beyond that a fragment is written at once, whether or not a
    /// keyframe has come.
    private static let maximumPendingBytes = 8 << 20

    private let directory: HLSDirectory
    private let options: HLSOptions
    private var run = HLSDate.nowMicroseconds
    private let outbox = Outbox()
    /// The muxer for the next fragment. Nil until the tracks are known.
    private var muxer: Muxer?
    /// The tracks in the run's header.
    private var streams: StreamDescription
    /// Like ``streams``, but with the new coding of tracks whose coding has changed: the tracks of the next run.
    private var upcoming: StreamDescription
    private var change = HLSCodingChange()
    /// The track that determines the cuts.
    private var leading: TrackKind { streams.leadingKind }
    private var cutter: HLSCutter
    private var playlist: HLSPlaylist
    private var file: HLSFile?
    private var number: Int64 = 0
    private var isDiscontinuous: Bool
    /// The offset from program time to the times in the files, which are UTC, in hundredths of a second. A later run
    /// therefore has later times, which helps players that do not reset their clock at a discontinuity.
    private var shift: Int64?
    /// Program time and UTC of the run's first frame, and program time of the segment's first frame, in nanoseconds.
    private var origin: (program: Int64, utc: Int64)?
    private var segmentStart: Int64 = 0
    /// Whether a decoder can start at the segment; nil before its first frame.
    private var isIndependent: Bool?
    private var marks = HLSMarks()
    private let clock: any MonotonicClock
    /// Files that left the playlist and are not removed yet.
    private var expiry = HLSExpiry()
    /// The earlier playlist that this run replaces; nil after it was replaced.
    private var replaced: HLSPlaylist?

    /// Number of bytes written to files.
    package private(set) var bytes: UInt64 = 0
    /// Number of frames in published segments.
    package private(set) var frames: UInt64 = 0
    /// Number of segments added to the playlist.
    package private(set) var segments = 0
    /// Number of the run's fragments written to files.
    private var fragments = 0
    /// Number of frames in the segment that is being written.
    private var pendingFrames: UInt64 = 0
    private var pendingBytes = 0
    /// Whether a keyframe is needed; the caller resets it.
    package var wantsKeyframe = false

    /// Begins a run in the directory `path`.
    ///
    /// The run continues the playlist of an earlier run. If that playlist is closed, or so old that no player can still
    /// be playing it, only its counters continue, so that players and caches that know it are not confused.
    package init(
        _ path: String, _ options: HLSOptions, _ description: StreamDescription,
        clock: any MonotonicClock = SystemClock()
    ) throws(OutputFailure) {
        directory = try HLSDirectory(path)
        self.options = options
        self.clock = clock
        let target = options.segmentDuration
        (streams, upcoming) = (description, description)
        cutter = Self.makeCutter(options, description)
        let old = try directory.playlist()
        let seconds = (target.inNanoseconds + 999_999_999) / 1_000_000_000
        // A segment stays in the playlist for the length of one playlist, and in the copies of players for another such
        // length plus its own duration.
        let lifetime = 2 * max(Int64(options.listSize) * seconds, (old?.duration ?? 0) / 1_000_000) + seconds
        let kept = try HLSLeftovers(in: directory).clear(except: old?.names ?? [], lifetime: lifetime)
        for file in kept { expiry.retire(file.names, due: clock.now + file.seconds * 1_000_000_000) }
        if let old { expiry.publish(old) }
        let isStale = HLSDate.nowMicroseconds / 1_000_000 - directory.modified(HLSName.playlist) > lifetime
        if let old, old.hasEnded || isStale {
            playlist = old.successor(targetSeconds: seconds)
            replaced = old
        } else {
            playlist = old?.with(targetSeconds: seconds) ?? HLSPlaylist(targetSeconds: seconds)
        }
        isDiscontinuous = old?.entries.isEmpty == false
        if !description.tracks.isEmpty { muxer = try Self.makeMuxer(description, 1, outbox) }
        try checkSpace(description)
        if muxer != nil { try writeMap() }
    }

    /// Closes the playlist in the directory `path` at the end of the program, if no run follows. Does nothing if the
    /// playlist is already closed, or if the options say not to close it.
    package static func conclude(_ path: String, _ options: HLSOptions) throws(OutputFailure) {
        guard options.endList.closes(isProgramOver: true) else { return }
        // A missing directory has no open playlist; it is not created.
        guard access("\(path)/\(HLSName.playlist)", F_OK) == 0 else { return }
        let directory = try HLSDirectory(path)
        guard var playlist = try directory.playlist(), !playlist.hasEnded, !playlist.entries.isEmpty else { return }
        playlist.hasEnded = true
        try directory.write(Array(playlist.text.utf8), as: HLSName.playlist)
    }

    deinit {
        if number == 0 { directory.remove(HLSName.map(run: run)) }
    }

    private static func makeCutter(_ options: HLSOptions, _ description: StreamDescription) -> HLSCutter {
        HLSCutter(
            target: options.segmentDuration,
            isConstant: description.video == nil || description.video?.nominalRate != nil)
    }

    private func writeMap() throws(OutputFailure) {
        try directory.write(outbox.bytes, as: HLSName.map(run: run))
        outbox.bytes = []
    }

    /// A muxer for a header and fragment `number` of a run, counted from 1.
    private static func makeMuxer(
        _ description: StreamDescription, _ number: Int, _ outbox: Outbox
    ) throws(OutputFailure) -> Muxer {
        var options = Muxer.Options(format: "mp4")
        // The caller decides when a fragment ends, and sets the times. All times are positive, so no edit list is
        // needed.
        options.values = [
            "movflags": "frag_custom+empty_moov+default_base_moof+frag_discont+skip_trailer", "use_editlist": "0",
            "avoid_negative_ts": "disabled", "video_track_timescale": "90000", "fragment_index": String(number),
        ]
        do throws(AVFailure) {
            let muxer = try Muxer(options, description: description) { outbox.bytes.append(contentsOf: $0) }
            muxer.flush()
            return muxer
        } catch {
            throw OutputFailure(.rejected, step: "open", reason: "\(error)")
        }
    }

    /// Refuses to begin a run without space for its segments. Such a run would fail and start again and again, and
    /// request a keyframe each time.
    private func checkSpace(_ description: StreamDescription) throws(OutputFailure) {
        let bits = Int64(max(description.video?.bitrate ?? 0, 1_000_000) + (description.audio?.bitrate ?? 0))
        let segment = bits / 8 * options.segmentDuration.inNanoseconds / 1_000_000_000
        // The required space: the segments of the playlist, as many again plus one for players that use an older
        // playlist, and the segment that is being written.
        let there = playlist.names.union(expiry.names).union(replaced?.names ?? [])
        let needed = segment * Int64(2 * options.listSize + 2) - there.reduce(0) { $0 + directory.size($1) }
        let free = try directory.freeBytes()
        guard free >= needed else {
            throw OutputFailure(
                .unreachable, step: "open",
                reason: "\(directory.path): \(free / 1000) kB are free and the segments take \(needed / 1000) kB more")
        }
    }
}

extension HLSWriter {
    /// Writes one packet. Packets before the first keyframe cannot be decoded and are left out.
    package func write(_ packet: EncodedPacket) throws(OutputFailure) {
        switch change.take(packet, behind: streams) {
        case .held: return
        case .passed: try put(packet)
        case .decided(let packets): try putChanged(packets)
        }
    }

    /// Begins a run with the coding of `packets`, and writes them to it. If a frame in the middle of a GOP is the first
    /// of the run, a keyframe is requested: a player cannot begin with that segment.
    private func putChanged(_ packets: [EncodedPacket]) throws(OutputFailure) {
        // A frame with a new coding can be decoded only from its keyframe on.
        let known = packets.filter { $0.track == .audio || $0.isKeyframe }
        upcoming = known.reduce(upcoming) { $0.updated(by: $1) }
        if packets.first(where: { $0.track == .video })?.isKeyframe != true { wantsKeyframe = true }
        if !upcoming.isIdentical(to: streams) { try beginRun() }
        for packet in packets { try put(packet) }
    }

    private func put(_ packet: EncodedPacket) throws(OutputFailure) {
        if packet.track == .data { return marks.note(packet, since: origin) }
        if pendingBytes > Self.maximumPendingBytes { try writeFragment() }
        guard try follow(packet) else { return }
        guard shift != nil || packet.track == leading && packet.isKeyframe else { return }
        try cut(before: packet)
        if packet.track == .video {
            pendingFrames += 1
            isIndependent = isIndependent ?? packet.isKeyframe
        }
        guard let shift, let muxer else { return }
        pendingBytes += packet.payload.count
        let clock = muxer.timeBase(of: packet.track)
        do throws(AVFailure) {
            try muxer.write(packet, shift: TimeBase(1, 100).rescale(shift, to: clock))
        } catch {
            throw OutputFailure(.lost, step: "write", reason: "\(error)")
        }
    }

    /// Begins another run when a track comes or the leading track's coding changes, because players read a header once
    /// for all segments that refer to it. That is possible only at a keyframe of the leading track; until then, packets
    /// with another coding are left out. Returns whether `packet` can be written.
    private func follow(_ packet: EncodedPacket) throws(OutputFailure) -> Bool {
        if !upcoming.holds(packet) {
            upcoming = upcoming.updated(by: packet)
            wantsKeyframe = wantsKeyframe || !packet.isKeyframe || packet.track != upcoming.leadingKind
        }
        if packet.track == upcoming.leadingKind, packet.isKeyframe, !upcoming.isIdentical(to: streams) {
            try beginRun()
        }
        return streams.holds(packet)
    }

    private func beginRun() throws(OutputFailure) {
        // A run without a frame is in no playlist, so its header is useless.
        if cutter.elapsed > 0 { try finishSegment(cutter.elapsed) }
        if number == 0 { directory.remove(HLSName.map(run: run)) }
        // New audio alone does not change the GOPs.
        cutter = streams.video === upcoming.video ? cutter.successor : Self.makeCutter(options, upcoming)
        streams = upcoming
        isDiscontinuous = isDiscontinuous || !playlist.entries.isEmpty
        (run, number, fragments) = (max(run + 1, HLSDate.nowMicroseconds), 0, 0)
        outbox.bytes = []
        muxer = try Self.makeMuxer(streams, 1, outbox)
        try writeMap()
    }

    private func cut(before packet: EncodedPacket) throws(OutputFailure) {
        let pts = packet.ptsNanoseconds
        if cutter.elapsed == 0 { segmentStart = pts }
        if shift == nil {
            // A hundredth of a second is a whole number of ticks in every time base in use, so audio and video are
            // shifted by exactly the same time.
            let utc = HLSDate.nowMicroseconds * 1000
            shift = TimeBase.nanoseconds.rescale(utc - pts, to: TimeBase(1, 100), rounding: .down)
            origin = (pts, utc)
        }
        let length = packet.timeBase.rescale(packet.duration, to: .nanoseconds)
        let decision =
            packet.track == leading
            ? cutter.video(pts: pts, frame: length, isKeyframe: packet.isKeyframe)
            : cutter.audio(pts: pts, end: pts + length)
        switch decision {
        case .goOn: return
        case .fragmentAndAsk:
            wantsKeyframe = true
            try writeFragment()
        case .fragment:
            // In a program without video every packet is a keyframe, and if each had its own fragment, the headers
            // would be larger than the audio.
            if leading == .video { try writeFragment() }
        case .cut(let duration, let isDiscontinuous):
            try finishSegment(duration)
            self.isDiscontinuous = isDiscontinuous
            segmentStart = cutter.start ?? pts
        }
    }

    private func writeFragment() throws(OutputFailure) {
        do throws(AVFailure) {
            try muxer?.flushFragment()
        } catch {
            throw OutputFailure(.lost, step: "write", reason: "\(error)")
        }
        if file == nil { file = try directory.create(HLSName.segment(run: run, number: number)) }
        try file?.write(outbox.bytes)
        bytes += UInt64(outbox.bytes.count)
        fragments += 1
        pendingBytes = 0
        muxer = try Self.makeMuxer(streams, fragments + 1, outbox)
        // The header of this fragment's muxer contains nothing new.
        outbox.bytes.removeAll(keepingCapacity: true)
    }

    private func finishSegment(_ duration: Int64, isLast: Bool = false) throws(OutputFailure) {
        try writeFragment()
        try file?.publish()
        file = nil
        let elapsed = segmentStart - (origin?.program ?? 0)
        let entry = HLSPlaylist.Entry(
            name: HLSName.segment(run: run, number: number), map: HLSName.map(run: run),
            duration: (duration + 500) / 1000, date: ((origin?.utc ?? 0) + elapsed) / 1_000_000,
            isDiscontinuous: isDiscontinuous, isIndependent: isIndependent ?? true)
        isIndependent = nil
        number += 1
        segments += 1
        let first = playlist.mediaSequence
        let left = playlist.append(entry, limit: options.listSize)
        playlist.add(marks.take(before: isLast ? .max : entry.date + duration / 1_000_000))
        try writePlaylist()
        frames += pendingFrames
        pendingFrames = 0
        expiry.retire(left, first: first, at: clock.now)
        if let replaced { expiry.retire(replaced.entries, first: replaced.mediaSequence, at: clock.now) }
        replaced = nil
        expiry.publish(playlist)
        expiry.takeDue(at: clock.now).subtracting(playlist.names).forEach(directory.remove)
    }

    private func writePlaylist() throws(OutputFailure) {
        try directory.write(Array(playlist.text.utf8), as: HLSName.playlist)
    }

    /// Completes the last segment. The playlist is closed if the options say so; otherwise a later run continues it.
    package func finish(isProgramOver: Bool) throws(OutputFailure) {
        let held = change.takeAll()
        if !held.isEmpty { try putChanged(held) }
        playlist.hasEnded = options.endList.closes(isProgramOver: isProgramOver)
        if cutter.elapsed > 0 {
            try finishSegment(cutter.elapsed, isLast: true)
        } else if playlist.hasEnded, !playlist.entries.isEmpty {
            try writePlaylist()
        }
    }
}
