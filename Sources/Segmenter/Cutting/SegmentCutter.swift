// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Media

/// Cuts a program whose keyframes can be asked for.
///
/// A file begins exactly at an IDR frame. From that frame on video is held until an audio packet that begins at or
/// after it has come; audio that begins earlier belongs to the old file. The new file's audio begins with the last
/// packet of the old file, hidden, because an AAC decoder needs it to get the next one right. So no frame and no
/// sample of audio is lost or shown twice. A file also ends where the coding of its tracks does. A program without video
/// is cut at any packet of its audio, and so is one whose video has stopped: then a file holds audio alone, up to the next
/// keyframe.
struct SegmentCutter: SegmentCutting {
    typealias Action = SegmentAction

    private enum Phase {
        /// No file is open; the next IDR begins one.
        case waiting
        /// A file is open.
        case writing
        /// The first of these frames begins the next file, as soon as audio has come that far.
        case holding(frames: [EncodedPacket], isFileOpen: Bool)
    }

    /// The track by whose keyframes files are cut.
    private var leading: TrackKind
    /// How audio is coded now; nil as long as there is no audio, so that no file waits for it.
    private var audioTrack: TrackDescription?
    /// How the tracks of the file that was begun last are coded.
    private var (fileVideo, fileAudio): (TrackDescription?, TrackDescription?)
    private var phase = Phase.waiting
    private var lastAudio: EncodedPacket?
    private var lateness: Int64 = 0
    /// How much of each track came since the other one came last.
    private var (leadAlone, audioAlone) = (TrackProgress(), TrackProgress())
    private var schedule: SegmentSchedule
    /// No file begins before this program time, in nanoseconds.
    private var earliest = Int64.min

    /// Bytes that a sample costs besides its payload: fragment and table entries (measured: 13 to 20).
    private static let sampleOverhead: Int64 = 24
    /// Audio that is this late is not waited for.
    private static let longestHold: Int64 = 3_000_000_000
    /// Where a file has to end, and for so much audio no frame came, it ends without a keyframe: in nanoseconds.
    private static let absence: Int64 = 10_000_000_000
    /// A millisecond.
    private static let hair: Int64 = 1_000_000

    /// A microsecond: a frame's own time, rounded to nanoseconds, is no earlier than itself.
    private static let grace: Int64 = 1000

    /// A cutter of files of `length`, counted from the recording's start or along `grid`, of a program that begins with the
    /// tracks of `stream`. Without a length files end where ``cut(at:)`` says.
    init(length: SegmentLength?, stream: StreamDescription, grid: WallClockGrid? = nil) {
        leading = stream.leadingKind
        audioTrack = stream.audio
        schedule = SegmentSchedule(length: length, grid: grid)
    }

    /// The program time in nanoseconds at which the open file is to end.
    var nextBoundary: Int64? { schedule.boundary?.nanoseconds }

    /// When the program's time was 0, in milliseconds of the wall clock; for a grid.
    mutating func setProgramStart(_ milliseconds: Int64) {
        schedule.programStart = UTCTime(milliseconds: milliseconds)
    }

    /// Ends the open file as soon as a keyframe comes.
    mutating func cutNow() -> [Action] {
        guard case .writing = phase else { return [] }
        schedule.requestCut()
        return [.request(nil)]
    }

    /// Ends the open file with the first keyframe of program time `time`, in nanoseconds, or later. The caller asks for
    /// that keyframe.
    mutating func cut(at time: Int64) { schedule.requestCut(at: Timestamp(nanoseconds: time - Self.grace)) }

    /// Begins no file before program time `time`, in nanoseconds.
    mutating func wait(until time: Int64) { earliest = time - Self.grace }

    /// Takes the next packet of the interleaved program.
    mutating func push(_ packet: EncodedPacket) -> [Action] {
        var actions: [Action] = []
        // There is video now: it leads from here on.
        if packet.track == .video, packet.isKeyframe, leading == .audio { lead(by: .video) }
        note(packet)
        switch packet.track {
        case leading: lead(packet, &actions)
        case .audio: audio(packet, &actions)
        case .data: takeData(packet, &actions)
        // A decoder could not begin with it.
        case .video: actions.append(.skip(packet))
        }
        passOver(packet)
        return actions
    }

    /// The program is over: what is held goes to its file, and that is closed.
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

    /// Files are cut by `track` from here on.
    private mutating func lead(by track: TrackKind) {
        leading = track
        (leadAlone, audioAlone) = (TrackProgress(), TrackProgress())
    }

    private mutating func note(_ packet: EncodedPacket) {
        if packet.track == leading {
            leadAlone.note(packet)
            audioAlone.passed = 0
        } else if packet.track == .audio {
            audioAlone.note(packet)
            leadAlone.passed = 0
        }
    }

    /// Recording is interrupted: the open file is closed; held frames of a file not yet begun belong to none.
    /// Goes on at the next IDR.
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

    /// Remembers audio that was not recorded, so that it can be the hidden packet of the next file.
    mutating func passOver(_ packet: EncodedPacket) {
        if packet.track == .audio { (lastAudio, audioTrack) = (packet, packet.description) }
    }

    private mutating func lead(_ packet: EncodedPacket, _ actions: inout [Action]) {
        switch phase {
        case .waiting:
            guard packet.isKeyframe, packet.ptsNanoseconds >= earliest else { return actions.append(.skip(packet)) }
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
            if packet.dtsNanoseconds - frames[0].dtsNanoseconds > Self.longestHold || isAudioOverdue {
                begin(frames, firstAudio: nil, &actions)
            } else {
                phase = .holding(frames: frames, isFileOpen: isFileOpen)
            }
        }
    }

    /// Whether audio is not waited for any more.
    private var isAudioOverdue: Bool { leadAlone.passed > Self.longestHold }

    private mutating func audio(_ packet: EncodedPacket, _ actions: inout [Action]) {
        switch phase {
        case .waiting: actions.append(.skip(packet))
        case .writing where audioAlone.passed > Self.absence && schedule.isCut(packet):
            lead(by: .audio)
            hold(packet, isFileOpen: true, &actions)
        case .writing: writeAudio(packet, &actions)
        case .holding(let frames, let isFileOpen):
            // Where no older file could take it, audio that comes a hair before the frame counts as coming with it:
            // times that came in milliseconds are only that exact, and a recording would begin with a packet of
            // silence.
            if Self.isAtOrAfter(packet, frames[0], tolerance: isFileOpen ? 0 : Self.hair) {
                begin(frames, firstAudio: packet, &actions)
                write(packet, &actions)
            } else if isFileOpen, packet.description === fileAudio {
                write(packet, &actions)
            } else {
                actions.append(.skip(packet))
            }
        }
    }

    /// Audio beside video. A file describes it once: audio that is coded in another way, or that the file does not have,
    /// has to wait for the next one, which begins as soon as may be.
    private mutating func writeAudio(_ packet: EncodedPacket, _ actions: inout [Action]) {
        guard packet.description !== fileAudio else { return write(packet, &actions) }
        actions.append(.skip(packet))
        guard packet.description !== audioTrack else { return }
        schedule.requestCut()
        actions.append(.request(nil))
    }

    /// Timed data goes to the file that is open.
    private func takeData(_ packet: EncodedPacket, _ actions: inout [Action]) {
        switch phase {
        case .writing, .holding(_, isFileOpen: true): actions.append(.write(packet))
        case .waiting, .holding: break
        }
    }

    /// Whether the open file's description does not fit `packet`, which is of the leading track.
    private func isCodedAnew(_ packet: EncodedPacket) -> Bool {
        packet.description !== (leading == .video ? fileVideo : fileAudio)
    }

    /// Exact comparison of presentation times, whatever the time bases, but for `tolerance` nanoseconds.
    private static func isAtOrAfter(_ audio: EncodedPacket, _ frame: EncodedPacket, tolerance: Int64) -> Bool {
        let start = frame.timeBase.rescale(frame.pts, to: audio.timeBase, rounding: .up)
        return audio.pts >= start - TimeBase.nanoseconds.rescale(tolerance, to: audio.timeBase, rounding: .down)
    }

    private mutating func hold(_ keyframe: EncodedPacket, isFileOpen: Bool, _ actions: inout [Action]) {
        phase = .holding(frames: [keyframe], isFileOpen: isFileOpen)
        lateness = isFileOpen ? max(0, keyframe.ptsNanoseconds - (nextBoundary ?? .max)) : 0
        for time in schedule.begin(at: keyframe) { actions.append(.request(time.nanoseconds)) }
        guard leading == .audio || audioTrack == nil || isAudioOverdue else { return }
        begin([keyframe], firstAudio: leading == .audio ? keyframe : nil, &actions)
    }

    private mutating func begin(
        _ frames: [EncodedPacket], firstAudio: EncodedPacket?, _ actions: inout [Action]
    ) {
        let preRoll = firstAudio.flatMap { $0.description === lastAudio?.description ? lastAudio : nil }
        let start = SegmentStart(
            keyframe: frames[0], preRoll: preRoll, firstAudio: firstAudio, boundary: nextBoundary,
            lateness: lateness)
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
