// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Media

/// Cuts a program whose encoder makes keyframes on request.
///
/// A file begins exactly at an IDR frame. Video from that frame on is held, for at most 3 s, until an audio packet
/// arrives that begins with the frame or after it; earlier audio belongs to the old file. If the file's container can
/// hide a packet, the new file's audio begins with the last audio packet of the old file, which is hidden: an AAC
/// decoder needs this packet to decode the next packet correctly. So no frame and no audio sample is lost or shown
/// twice.
///
/// A file also ends where the codec configuration of one of its tracks changes. A program without video can be cut at
/// any audio packet. A program whose video has stopped can also be cut at any audio packet: the next file then contains
/// only audio, up to the next keyframe.
struct SegmentCutter: SegmentCutting {
    typealias Action = SegmentAction

    private enum Phase {
        /// No file is open; the next keyframe of the leading track begins one.
        case waiting
        /// A file is open.
        case writing
        /// The next file is about to begin with the first of these frames. The frames are held until audio has reached
        /// the first of them. `isFileOpen` tells whether the previous file is still open.
        case holding(frames: [EncodedPacket], isFileOpen: Bool)
    }

    /// The track whose keyframes decide where files are cut.
    private var leading: TrackKind
    /// The current audio description; nil while there is no audio, so that no file waits for it.
    private var audioTrack: TrackDescription?
    /// The descriptions of the tracks in the newest file.
    private var (fileVideo, fileAudio): (TrackDescription?, TrackDescription?)
    private var phase = Phase.waiting
    private var lastAudio: EncodedPacket?
    private var lateness = Duration.zero
    /// For each track, the amount that has arrived since the last packet of the other track.
    private var (leadAlone, audioAlone) = (TrackProgress(), TrackProgress())
    private var schedule: SegmentSchedule
    /// The program time before which no file begins.
    private var earliest = ProgramInstant.distantPast

    /// The bytes that a sample takes in the file in addition to its payload: entries in the fragment and in tables
    /// (measured: 13 to 20 bytes).
    private static let sampleOverhead: Int64 = 24
    /// The maximum time for which a new file waits for its audio.
    private static let longestHold: Duration = .seconds(3)
    /// If a file must end and no frame arrives during this much audio, the file ends without a keyframe.
    private static let absence: Duration = .seconds(10)
    /// The rounding error of times that arrive in milliseconds.
    private static let hair: Duration = .milliseconds(1)

    /// The tolerance for frame times that were rounded to nanoseconds.
    private static let grace: Duration = .microseconds(1)

    /// Creates a cutter of files of `length` for a program that begins with the tracks of `stream`. The length is
    /// counted from the recording's start or, with a `grid`, by the wall clock. Without a length, files end only on
    /// request, and where the coding changes.
    init(length: SegmentLength?, stream: StreamDescription, grid: WallClockGrid? = nil) {
        leading = stream.leadingKind
        audioTrack = stream.audio
        schedule = SegmentSchedule(length: length, grid: grid)
    }

    /// The planned end of the open file.
    var nextBoundary: ProgramInstant? { schedule.boundary }

    /// Sets the wall-clock time of program time 0, in milliseconds. The wall-clock grid needs this time.
    mutating func setProgramStart(_ milliseconds: Int64) { schedule.programStart = UTCTime(milliseconds: milliseconds) }

    /// Ends the open file at the next keyframe, and requests that keyframe. Does nothing if no file is open, or if the
    /// next file is about to begin.
    mutating func cutNow() -> [Action] {
        guard case .writing = phase else { return [] }
        schedule.requestCut()
        return [.request(nil)]
    }

    /// Ends the open file at the first keyframe at or after program time `time`. The caller requests that keyframe.
    mutating func cut(at time: ProgramInstant) { schedule.requestCut(at: time - Self.grace) }

    /// Begins no file before program time `time`.
    mutating func wait(until time: ProgramInstant) { earliest = time - Self.grace }

    /// Handles the next packet of the interleaved program.
    mutating func push(_ packet: EncodedPacket) -> [Action] {
        var actions: [Action] = []
        // Video has resumed: from now on its keyframes decide where files are cut.
        if packet.track == .video, packet.isKeyframe, leading == .audio { lead(by: .video) }
        note(packet)
        switch packet.track {
        case leading: lead(packet, &actions)
        case .audio: audio(packet, &actions)
        case .data: takeData(packet, &actions)
        // While audio decides where files are cut, a frame that is not a keyframe is skipped, because a decoder can
        // begin only with a keyframe.
        case .video: actions.append(.skip(packet))
        }
        passOver(packet)
        return actions
    }

    /// Ends the program: writes the held frames to their file and closes the file.
    mutating func finish() -> [Action] {
        var actions: [Action] = []
        if case .holding(let frames, _) = phase { begin(frames, firstAudio: nil, &actions) }
        if case .writing = phase { actions.append(.close) }
        forget()
        return actions
    }

    private mutating func forget() {
        phase = .waiting
        lead(by: leading)
    }

    /// Lets `track` decide where files are cut from now on.
    private mutating func lead(by track: TrackKind) {
        leading = track
        (leadAlone, audioAlone) = (TrackProgress(), TrackProgress())
    }

    private mutating func note(_ packet: EncodedPacket) {
        if packet.track == leading {
            leadAlone.note(packet)
            audioAlone.passed = .zero
        } else if packet.track == .audio {
            audioAlone.note(packet)
            leadAlone.passed = .zero
        }
    }

    /// Interrupts the recording: closes the open file, and skips the frames that are held for a file that has not begun
    /// yet. The next file begins at the next keyframe.
    mutating func interrupt() -> [Action] {
        var actions: [Action] = []
        switch phase {
        case .waiting: break
        case .writing: actions.append(.close)
        case .holding(let frames, let isFileOpen):
            if isFileOpen { actions.append(.close) }
            actions += frames.map { .skip($0) }
        }
        forget()
        return actions
    }

    /// Remembers `packet` if it is audio, recorded or not, because the last audio packet can become the hidden first
    /// packet of the next file.
    mutating func passOver(_ packet: EncodedPacket) {
        if packet.track == .audio { (lastAudio, audioTrack) = (packet, packet.description) }
    }

    private mutating func lead(_ packet: EncodedPacket, _ actions: inout [Action]) {
        switch phase {
        case .waiting:
            guard packet.isKeyframe, packet.programPts >= earliest else { return actions.append(.skip(packet)) }
            hold(packet, isFileOpen: false, &actions)
        case .writing:
            if packet.isKeyframe, schedule.isCut(packet) || isCodedAnew(packet) {
                hold(packet, isFileOpen: true, &actions)
            } else {
                write(packet, &actions)
            }
        case .holding(let frames, _) where packet.isKeyframe && packet.description !== frames[0].description:
            begin(frames, firstAudio: nil, &actions)
            hold(packet, isFileOpen: true, &actions)
        case .holding(var frames, let isFileOpen):
            frames.append(packet)
            if packet.programDts - frames[0].programDts > Self.longestHold || isAudioOverdue {
                begin(frames, firstAudio: nil, &actions)
            } else {
                phase = .holding(frames: frames, isFileOpen: isFileOpen)
            }
        }
    }

    /// Whether audio is so late that a new file begins without waiting for its audio.
    private var isAudioOverdue: Bool { leadAlone.passed > Self.longestHold }

    private mutating func audio(_ packet: EncodedPacket, _ actions: inout [Action]) {
        switch phase {
        case .waiting: actions.append(.skip(packet))
        case .writing where audioAlone.passed > Self.absence && schedule.isCut(packet):
            lead(by: .audio)
            hold(packet, isFileOpen: true, &actions)
        case .writing: writeAudio(packet, &actions)
        case .holding(let frames, let isFileOpen):
            // If no file was open, audio that begins up to 1 ms before the new file's first frame counts as
            // simultaneous with this frame. Times that arrive in milliseconds are no more exact than 1 ms; otherwise
            // the recording would begin with a packet of silence.
            if Self.isAtOrAfter(packet, frames[0], tolerance: isFileOpen ? .zero : Self.hair) {
                begin(frames, firstAudio: packet, &actions)
                write(packet, &actions)
            } else if isFileOpen, packet.description === fileAudio {
                write(packet, &actions)
            } else {
                actions.append(.skip(packet))
            }
        }
    }

    /// Handles audio of a program with video. A file describes its audio only once. So audio of another codec
    /// configuration, or of a track that the file does not have, is skipped, and a new file begins as soon as possible.
    private mutating func writeAudio(_ packet: EncodedPacket, _ actions: inout [Action]) {
        guard packet.description !== fileAudio else { return write(packet, &actions) }
        actions.append(.skip(packet))
        guard packet.description !== audioTrack else { return }
        schedule.requestCut()
        actions.append(.request(nil))
    }

    /// Writes timed data to the open file, if there is one.
    private func takeData(_ packet: EncodedPacket, _ actions: inout [Action]) {
        switch phase {
        case .writing, .holding(_, isFileOpen: true): actions.append(.write(packet))
        case .waiting, .holding: break
        }
    }

    /// Whether `packet`, which belongs to the leading track, is coded differently from that track in the open file.
    private func isCodedAnew(_ packet: EncodedPacket) -> Bool {
        packet.description !== (leading == .video ? fileVideo : fileAudio)
    }

    /// Whether `audio` begins with `frame` or after it. The presentation times are compared exactly across different
    /// time bases, except for `tolerance`.
    private static func isAtOrAfter(_ audio: EncodedPacket, _ frame: EncodedPacket, tolerance: Duration) -> Bool {
        let start = frame.timeBase.rescale(frame.pts, to: audio.timeBase, rounding: .up)
        return audio.pts >= start
            - TimeBase.nanoseconds.rescale(tolerance.inNanoseconds, to: audio.timeBase, rounding: .down)
    }

    private mutating func hold(_ keyframe: EncodedPacket, isFileOpen: Bool, _ actions: inout [Action]) {
        phase = .holding(frames: [keyframe], isFileOpen: isFileOpen)
        lateness = isFileOpen ? max(.zero, keyframe.programPts - (nextBoundary ?? .distantFuture)) : .zero
        for time in schedule.begin(at: keyframe) { actions.append(.request(time)) }
        guard leading == .audio || audioTrack == nil || isAudioOverdue else { return }
        begin([keyframe], firstAudio: leading == .audio ? keyframe : nil, &actions)
    }

    private mutating func begin(_ frames: [EncodedPacket], firstAudio: EncodedPacket?, _ actions: inout [Action]) {
        let preRoll = firstAudio.flatMap { $0.description === lastAudio?.description ? lastAudio : nil }
        let start = SegmentStart(
            keyframe: frames[0], preRoll: preRoll, firstAudio: firstAudio, boundary: nextBoundary, lateness: lateness)
        phase = .writing
        fileVideo = leading == .video ? frames[0].description : nil
        fileAudio = firstAudio?.description ?? audioTrack
        actions.append(.open(start))
        if let preRoll = start.preRoll { actions.append(.write(preRoll)) }
        for frame in frames { write(frame, &actions) }
    }

    private mutating func write(_ packet: EncodedPacket, _ actions: inout [Action]) {
        actions.append(.write(packet))
        let size = Int64(packet.payload.count) + Self.sampleOverhead
        let beginsGroup = packet.track == leading && packet.isKeyframe
        if schedule.wrote(size, beginsGroup: beginsGroup) { actions.append(.request(nil)) }
    }
}
