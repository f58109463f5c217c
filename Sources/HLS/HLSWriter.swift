// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import LibAV
package import Media
internal import Networking

/// Writes an HLS output: a header, segments and, after each segment, the playlist. A series of segments with one header
/// is called a run. When the coding changes, a new run begins.
///
/// libavformat makes the header and the fragments. A muxer is used for only one fragment, because `frag_discont`
/// applies only to a muxer's first fragment. Each later fragment would begin at the sum of the previous durations,
/// whatever the times of its packets are. libavformat's own HLS muxer is not used, for two reasons. It has one header
/// for all segments of a playlist, so segments of an earlier run with other codec settings could not be decoded. It
/// also continues after a failed write.
///
/// Not thread-safe. A call blocks for as long as the file system does.
///
/// ```swift
/// let writer = try HLSWriter("/var/www/live", HLSOptions(), stream.description)
/// for packet in packets { try writer.write(packet) }
/// try writer.finish(isProgramOver: true)
/// ```
package final class HLSWriter {
    /// The bytes that the muxer has written and that are not in a file yet. It is a class, because libavformat's
    /// callback uses it too.
    private final class Outbox {
        var bytes: [UInt8] = []
    }

    /// The maximum number of payload bytes that are collected for a fragment. If there are more, the fragment is
    /// written before the next packet, even if that packet is not a keyframe.
    private static let maximumPendingBytes = 8 << 20

    private let directory: HLSDirectory
    private let options: HLSOptions
    private var run = HLSDate.nowMicroseconds
    private let outbox = Outbox()
    /// The muxer for the next fragment; nil until the tracks are known.
    private var muxer: Muxer?
    /// The tracks that the header of the current segments describes.
    private var streams: StreamDescription
    /// The tracks that the next header will describe. They are the same as ``streams``, except for tracks that are new
    /// or whose coding has changed.
    private var upcoming: StreamDescription
    private var change = HLSCodingChange()
    /// The track at whose keyframes segments begin.
    private var leading: TrackKind { streams.leadingKind }
    private var cutter: HLSCutter
    private var playlist: HLSPlaylist
    private var file: HLSFile?
    private var number: Int64 = 0
    private var isDiscontinuous: Bool
    /// The difference between the times in the files and program time, in hundredths of a second; nil before the first
    /// frame. The times in the files are UTC, so that later segments always have later times, even after a restart.
    /// That helps players that do not reset their clock at a discontinuity.
    private var shift: Int64?
    private var dating = HLSDating()
    private var segmentStart = ProgramInstant.zero
    /// Whether a decoder can start at the current segment; nil before its first frame.
    private var isIndependent: Bool?
    private var marks = HLSMarks()
    private let clock: any MonotonicClock
    /// Returns the present time in microseconds since 1970. The dates of the segments are computed from it.
    var wallClock: () -> Int64 = { HLSDate.nowMicroseconds }
    /// The files that have left the playlist and are kept for a while.
    private var expiry = HLSExpiry()
    /// The playlist in the directory, ended or outdated, that this writer will replace by its own; nil without such a
    /// playlist, and after the replacement.
    private var replaced: HLSPlaylist?

    /// The number of bytes written to segments.
    package private(set) var bytes: UInt64 = 0
    /// The number of video frames in published segments.
    package private(set) var frames: UInt64 = 0
    /// The number of segments added to the playlist.
    package private(set) var segments = 0
    /// The number of fragments written to files since the last header.
    private var fragments = 0
    /// The number of video frames in the segment that is being written.
    private var pendingFrames: UInt64 = 0
    private var pendingBytes = 0
    /// Whether a keyframe must be requested. The caller sets this to false when it has requested the keyframe.
    package var wantsKeyframe = false

    /// Begins to write into the directory `path`.
    ///
    /// A playlist that is there from an earlier attempt or process is continued. If it has an end tag, or is so old
    /// that no player can still be playing it, only its numbers are continued. Players and caches that know the old
    /// playlist are then not confused.
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
        // A segment stays in the playlist for the duration of one playlist. Players may use an old copy of the playlist
        // for the same time again, plus the duration of the segment.
        let lifetime = 2 * max(Int64(options.listSize) * seconds, (old?.duration ?? 0) / 1_000_000) + seconds
        let kept = try HLSLeftovers(in: directory).clear(except: old?.names ?? [], lifetime: lifetime)
        for file in kept { expiry.retire(file.names, due: clock.now + .seconds(file.seconds)) }
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

    /// Writes the end tag into the playlist in the directory `path`, when the program has ended and nothing more is
    /// written. Does nothing if there is no playlist, if the playlist has no segments or has the end tag already, or if
    /// the options say not to write it.
    package static func conclude(_ path: String, _ options: HLSOptions) throws(OutputFailure) {
        guard options.endList.closes(isProgramOver: true) else { return }
        // If there is no playlist, no end tag is missing, and the directory is not created.
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

    /// Creates a muxer that writes a header and one fragment. `number` is the fragment's number since the header; the
    /// first fragment has the number 1.
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

    /// Throws if the disk has no space for the segments of the playlist. Otherwise the output would fail and start
    /// again and again, and each start would request a keyframe.
    private func checkSpace(_ description: StreamDescription) throws(OutputFailure) {
        let bits = Int64(max(description.video?.bitrate ?? 0, 1_000_000) + (description.audio?.bitrate ?? 0))
        let segment = bits / 8 * options.segmentDuration.inNanoseconds / 1_000_000_000
        // The required space is that of all segments in the playlist, as many again plus one for players with an older
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
    /// Writes one packet. Packets before the first keyframe cannot be decoded and are dropped.
    package func write(_ packet: EncodedPacket) throws(OutputFailure) {
        switch change.take(packet, behind: streams) {
        case .held: return
        case .passed: try put(packet)
        case .decided(let packets): try putChanged(packets)
        }
    }

    /// Writes packets that were held back because the coding changed. If these packets do change the coding, a new
    /// header is written first. If the first frame among them is not a keyframe, or if there is no frame, a keyframe is
    /// requested, because a player cannot start at that segment.
    private func putChanged(_ packets: [EncodedPacket]) throws(OutputFailure) {
        // A frame that is not a keyframe does not change the coding: frames with a new coding can be decoded only from
        // their keyframe on.
        let known = packets.filter { $0.track == .audio || $0.isKeyframe }
        upcoming = known.reduce(upcoming) { $0.updated(by: $1) }
        if packets.first(where: { $0.track == .video })?.isKeyframe != true { wantsKeyframe = true }
        if !upcoming.isIdentical(to: streams) { try beginRun() }
        for packet in packets { try put(packet) }
    }

    private func put(_ packet: EncodedPacket) throws(OutputFailure) {
        if packet.track == .data {
            // Before the first frame there is no segment, so an earlier marker is dropped.
            if dating.hasBegun { marks.note(packet) }
            return
        }
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

    /// Begins a new series of segments with a new header if a track is new or if a coding has changed. Players read a
    /// header once for all segments that refer to it. A new series can begin only at a keyframe of the leading track.
    /// Until then, packets with another coding are dropped. Returns whether `packet` can be written.
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
        // If no segment was written since the last header, that header is not in the playlist and is deleted.
        if cutter.elapsed > .zero { try finishSegment(cutter.elapsed) }
        if number == 0 { directory.remove(HLSName.map(run: run)) }
        // If only the audio has a new coding, the cutter's successor is used, which remembers the length of the GOPs,
        // because the video continues.
        cutter = streams.video === upcoming.video ? cutter.successor : Self.makeCutter(options, upcoming)
        streams = upcoming
        isDiscontinuous = isDiscontinuous || !playlist.entries.isEmpty
        (run, number, fragments) = (max(run + 1, HLSDate.nowMicroseconds), 0, 0)
        outbox.bytes = []
        muxer = try Self.makeMuxer(streams, 1, outbox)
        try writeMap()
    }

    private func cut(before packet: EncodedPacket) throws(OutputFailure) {
        let pts = packet.programPts
        if cutter.elapsed == .zero { segmentStart = pts }
        if packet.track == leading { dating.note(pts, at: wallClock()) }
        if shift == nil {
            // The shift is rounded to hundredths of a second. A hundredth of a second is a whole number of ticks in
            // every time base that is used, so audio and video are shifted by exactly the same time.
            shift = TimeBase.nanoseconds.rescale(
                wallClock() * 1000 - pts.nanoseconds, to: TimeBase(1, 100), rounding: .down)
        }
        let length = Duration.nanoseconds(packet.timeBase.rescale(packet.duration, to: .nanoseconds))
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
            // A program without video is not split into fragments here, because every audio packet is a keyframe. If
            // each packet had its own fragment, the headers would be larger than the audio.
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
        // The new muxer has put another copy of the header into `outbox`. The copy is discarded, because the header is
        // in its own file already.
        outbox.bytes.removeAll(keepingCapacity: true)
    }

    private func finishSegment(_ duration: Duration, isLast: Bool = false) throws(OutputFailure) {
        try writeFragment()
        try file?.publish()
        file = nil
        dating.finish()
        let entry = HLSPlaylist.Entry(
            name: HLSName.segment(run: run, number: number), map: HLSName.map(run: run),
            duration: (duration.inNanoseconds + 500) / 1000, date: dating.date(of: segmentStart),
            isDiscontinuous: isDiscontinuous, isIndependent: isIndependent ?? true)
        isIndependent = nil
        number += 1
        segments += 1
        let first = playlist.mediaSequence
        let left = playlist.append(entry, limit: options.listSize)
        playlist.add(marks.take(before: isLast ? .max : entry.date + duration.inMilliseconds, by: dating))
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

    /// Writes the last segment. The playlist gets the end tag if the options say so; a playlist without the end tag can
    /// be continued later.
    package func finish(isProgramOver: Bool) throws(OutputFailure) {
        let held = change.takeAll()
        if !held.isEmpty { try putChanged(held) }
        playlist.hasEnded = options.endList.closes(isProgramOver: isProgramOver)
        if cutter.elapsed > .zero {
            try finishSegment(cutter.elapsed, isLast: true)
        } else if playlist.hasEnded, !playlist.entries.isEmpty {
            try writePlaylist()
        }
    }
}
