// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Cuts a copied program into files. A copied program was encoded elsewhere, so its keyframes cannot be requested.
///
/// A file shows the program from the frame nearest to the requested start on. It contains all packets from the keyframe
/// at or before that frame on; the packets before that frame are hidden. The previous file contains all packets that
/// are decoded before the new file begins, including the frames to which its last frames refer. So a packet can be in
/// several files, but each frame is shown by exactly one file.
///
/// Frames and audio arrive in decoding order, and each track can be behind the other. A new file begins only when all
/// audio before its start has arrived, or when the audio is interrupted. So when the coding of one track changes,
/// nothing of the other track is lost.
struct CopiedCutter: SegmentCutting {
    private var isWriting = false
    /// The program time before which no file shows anything.
    private var earliest = ProgramInstant.distantPast
    /// Future program times at which files end, sorted.
    private var cuts: [ProgramInstant] = []
    /// The packets since the latest keyframe with which the next file could begin, and some audio from before that
    /// keyframe.
    private var recent: [EncodedPacket] = []
    private var (fileVideo, fileAudio): (TrackDescription?, TrackDescription?)
    /// The description of audio with another coding than the open file's, if the end of the open file is already
    /// scheduled because of this audio; otherwise nil.
    private var cutFor: TrackDescription?
    /// The program time from which on the open file shows the program; `distantPast` before the first file.
    private var begun = ProgramInstant.distantPast
    /// The duration of the newest frame; 40 ms until a frame with a duration arrives.
    private var frameLength = Duration.milliseconds(40)

    /// `audioBefore` is the amount of audio from before its first keyframe that a file can need. `patience` is how long
    /// a file waits for the audio of its first frame if no other file is open.
    private static let (audioBefore, patience): (Duration, Duration) = (.milliseconds(500), .seconds(1))
    private static let mostCuts = 64
    /// Audio counts as interrupted if it is behind the frames by more than `absence`. Frames count as interrupted if
    /// they are behind audio of a new coding by more than `absence`. Audio for later files is kept if it begins at most
    /// `absence` before the newest frame. If no frames arrive, it is kept if it begins at most `keptAudio` plus
    /// `absence` before the newest audio.
    private static let (absence, keptAudio): (Duration, Duration) = (.milliseconds(1500), .seconds(5))
    /// The maximum amount of audio after a cut that is withheld from the open file while the next file has not begun.
    /// If no keyframe has arrived with which the next file could begin, no audio is withheld.
    private static let longestWait: Duration = .milliseconds(50)
    /// If a file must end and no frame arrives during this much audio, the file ends without a keyframe.
    private static let longestAbsence: Duration = .seconds(10)
    private static let trimStep = 1000
    /// The maximum total size of the packets in `recent`, in bytes. It is exceeded only if no keyframe arrives for a
    /// long time; all packets but the newest are then dropped.
    private static let mostBytes = 192 << 20
    private var bytes = 0
    /// Whether `recent` contains a keyframe.
    private var hasGroup = false
    /// Audio after the next cut that is not written to the open file yet. If the next file begins, only the part before
    /// its start is still written to the open file.
    private var withheld: [EncodedPacket] = []
    /// Decoding time of the newest frame.
    private var newestFrame = ProgramInstant.distantPast
    /// The end of the frames that have arrived; `distantPast` without frames.
    private var framesEnd = ProgramInstant.distantPast
    private var trimAt = trimStep
    /// The end of the audio that has arrived; nil without audio.
    private var audioEnd: ProgramInstant?
    /// The amount of audio that has arrived since the last frame.
    private var audioAlone = TrackProgress()

    var nextBoundary: ProgramInstant? { cuts.first }

    mutating func push(_ packet: EncodedPacket) -> [SegmentAction] {
        var actions: [SegmentAction] = []
        switch packet.track {
        case .video: takeFrame(packet, &actions)
        case .audio: takeAudio(packet, &actions)
        case .data: break
        }
        return actions
    }

    mutating func finish() -> [SegmentAction] {
        var actions: [SegmentAction] = []
        let newest = recent.lazy.filter { $0.track == .video }.map(\.programPts).max()
        if let newest, let begin = isWriting ? cuts.first : begin, newest >= begin - frameLength / 2 {
            open(at: begin, &actions)
        }
        if hasNextCoding, let cut = cuts.first { open(at: cut, &actions) }
        writeWithheld(before: .distantFuture, &actions)
        if isWriting { actions.append(.close) }
        forget()
        return actions
    }

    mutating func interrupt() -> [SegmentAction] {
        defer { forget() }
        guard isWriting else { return [] }
        // Frames with a new coding might be waiting for the next file. The recording is interrupted before that file
        // begins, so these frames are in no file.
        let waiting = hasNextCoding ? recent.filter { $0.track == .video && $0.description !== fileVideo } : []
        return waiting.map(SegmentAction.skip) + [.close]
    }

    private mutating func forget() {
        (isWriting, recent, bytes, hasGroup, withheld) = (false, [], 0, false, [])
        (newestFrame, framesEnd, audioEnd) = (.distantPast, .distantPast, nil)
        audioAlone = TrackProgress()
    }

    mutating func passOver(_ packet: EncodedPacket) {}
    mutating func cutNow() -> [SegmentAction] { [] }
    mutating func setProgramStart(_ milliseconds: Int64) {}

    mutating func cut(at time: ProgramInstant) {
        guard time > begun + frameLength / 2, !cuts.contains(time) else { return }
        if cuts.count == Self.mostCuts { cuts.removeFirst() }
        cuts.insert(time, at: cuts.firstIndex { $0 > time } ?? cuts.endIndex)
    }

    mutating func wait(until time: ProgramInstant) { earliest = time }

    /// The program time at which the next file begins if no file is open; nil until a keyframe has arrived.
    private var begin: ProgramInstant? {
        recent.first { $0.track == .video }.map { max(earliest, $0.programPts) }
    }

    /// Whether frames whose coding differs from the open file's are waiting for the next file.
    private var hasNextCoding: Bool {
        guard isWriting, let fileVideo, let last = recent.last(where: { $0.track == .video }) else { return false }
        return last.description !== fileVideo
    }

    /// Whether all audio before `time` has arrived, or is so late that the audio counts as interrupted. Also true if no
    /// audio has arrived, or if the open file has no audio.
    private func hasAudio(before time: ProgramInstant) -> Bool {
        guard let audioEnd, fileAudio != nil else { return true }
        return audioEnd >= time || newestFrame - audioEnd > Self.absence
    }

    // MARK: Packets

    private mutating func takeFrame(_ frame: EncodedPacket, _ actions: inout [SegmentAction]) {
        audioAlone.passed = .zero
        if frame.duration > 0 { frameLength = frame.timeBase.duration(frame.duration) }
        // If a frame with another codec configuration arrives while earlier frames still wait for their file, that file
        // begins now, with the waiting frames.
        let last = recent.last { $0.track == .video }
        if !isWriting || hasNextCoding, let last, last.description !== frame.description,
            let begin = isWriting ? cuts.first : begin, last.programPts >= begin - frameLength / 2
        {
            open(at: begin, &actions)
        }
        // A file that contains only audio ends at the first keyframe.
        let isBack = isWriting && fileVideo == nil
        // ``cut(at:)`` ignores a keyframe at the very start of the audio-only file; the next keyframe then requests the
        // cut again.
        if isBack, frame.isKeyframe, cuts.first.map({ $0 > frame.programPts }) ?? true {
            cut(at: frame.programPts)
        }
        let isCodedAnew = isWriting && !isBack && frame.description !== fileVideo
        let isOfGroup = hasGroup && last?.description === frame.description
        if frame.isKeyframe { dropGroup(before: frame, isOfGroup: isOfGroup) }
        let canFollow = isCodedAnew ? isOfGroup : isWriting && !isBack || hasGroup
        guard frame.isKeyframe || canFollow else { return actions.append(.skip(frame)) }
        newestFrame = max(newestFrame, frame.programDts)
        framesEnd = max(framesEnd, frame.programPts + frameLength)
        hasGroup = hasGroup || frame.isKeyframe
        keep(frame)
        if isCodedAnew, !isOfGroup || cuts.isEmpty { cut(at: max(frame.programPts, begun + frameLength)) }
        let reached = frame.programDts - frameLength / 2
        if !isWriting {
            guard let begin else { return }
            let hasAudio = recent.contains { $0.track == .audio && $0.programEnd > begin }
            let waited = frame.programDts - begin
            // The file is opened when the audio that belongs to its first frame has arrived, or when this audio has not
            // arrived for too long.
            if reached >= begin, hasAudio || waited > Self.patience {
                open(at: begin, &actions)
            }
        } else if hasGroup, let cut = cuts.first, reached >= cut, canOpen(at: cut, reached: reached) {
            open(at: cut, &actions)
        } else if !isBack, !isCodedAnew {
            actions.append(.write(frame))
        }
    }

    /// Whether a file can begin at `cut`: its first frame and all audio before that frame have arrived, or the audio is
    /// interrupted. If frames after `cut` are missing, the first frame is later than `cut`. `reached` is the newest
    /// decoding time minus half a frame.
    private func canOpen(at cut: ProgramInstant, reached: ProgramInstant) -> Bool {
        let time = shown(first: cut)
        return reached >= time - frameLength / 2 && hasAudio(before: time)
    }

    private mutating func takeAudio(_ packet: EncodedPacket, _ actions: inout [SegmentAction]) {
        let before = recent.last { $0.track == .audio }
        keep(packet)
        audioEnd = max(audioEnd ?? .distantPast, packet.programEnd)
        audioAlone.note(packet)
        guard isWriting, packet.programEnd > begun else { return }
        // The open file cannot contain audio of another codec configuration, so the wait for a frame is shorter if such
        // audio arrives.
        let longest = packet.description === fileAudio ? Self.longestAbsence : Self.absence
        if let cut = cuts.first, packet.programPts >= cut, audioAlone.passed > longest {
            return hasNextCoding ? open(at: cut, &actions) : openAudio(at: packet, behind: before, &actions)
        }
        guard packet.description === fileAudio else {
            // A file describes its audio only once, so audio with another description needs a new file.
            if cutFor !== packet.description { cut(at: max(packet.programPts, begun + frameLength)) }
            cutFor = packet.description
            return
        }
        // Audio after a cut belongs to the next file, which takes it from `recent`. It is also written to the open file
        // if the next file has not begun after ``longestWait``, or if no keyframe has arrived with which it could
        // begin.
        if let cut = cuts.first, packet.programPts >= cut + frameLength / 2 {
            withheld.append(packet)
            let isAlone = packet.programPts - cut > Self.longestWait
            if isAlone || !hasGroup { writeWithheld(before: .distantFuture, &actions) }
            return
        }
        actions.append(.write(packet))
    }

    /// Writes the withheld audio that begins before `time` to the open file.
    private mutating func writeWithheld(before time: ProgramInstant, _ actions: inout [SegmentAction]) {
        if isWriting {
            actions += withheld.filter { $0.programPts < time }.map(SegmentAction.write)
        }
        withheld = []
    }

    private mutating func keep(_ packet: EncodedPacket) {
        recent.append(packet)
        bytes += packet.payload.count
        if recent.count >= trimAt, packet.track == .audio { trimAudio(at: packet.programPts) }
        guard bytes > Self.mostBytes else { return }
        (recent, bytes) = ([packet], packet.payload.count)
        hasGroup = packet.track == .video && packet.isKeyframe
    }

    /// Drops audio that is too old for any future file; `now` is the time of the newest audio.
    private mutating func trimAudio(at now: ProgramInstant) {
        let oldest = max(newestFrame, now - Self.keptAudio) - Self.absence
        recent.removeAll { $0.track == .audio && $0.programPts < oldest }
        bytes = recent.reduce(0) { $0 + $1.payload.count }
        trimAt = recent.count + Self.trimStep
    }

    /// Drops packets that no later file needs. Keeps all packets if the next file is to begin before `keyframe`, at an
    /// earlier keyframe. If late audio with another coding could begin a file at an earlier keyframe, keeps the packets
    /// from that keyframe on. Otherwise keeps only some audio from before `keyframe`. `isOfGroup` means that the frames
    /// before `keyframe` have the same coding as `keyframe`.
    private mutating func dropGroup(before keyframe: EncodedPacket, isOfGroup: Bool) {
        let limit = isWriting ? cuts.first : earliest
        let time = keyframe.programPts
        let isNeeded = isOfGroup || hasGroup && isWriting && fileVideo != nil
        if let limit, limit > .distantPast, time > limit - frameLength, isNeeded { return }
        let first = isOfGroup && isWriting ? groupOfLateAudio(before: time) : nil
        let oldest = (first.map { recent[$0].programPts } ?? time) - Self.audioBefore
        let rest = first.map { Array(recent[$0...]) } ?? []
        let older = recent[..<(first ?? recent.endIndex)]
        recent = older.filter { $0.track == .audio && $0.programPts >= oldest } + rest
        hasGroup = first != nil
        trimAt = recent.count + Self.trimStep
        bytes = recent.reduce(0) { $0 + $1.payload.count }
    }

    /// Returns the index in `recent` of the keyframe with which a file would begin if the coding changed at the next
    /// audio packet; nil if all audio before `time` has arrived, or if the audio is interrupted.
    private func groupOfLateAudio(before time: ProgramInstant) -> Int? {
        guard let audioEnd, !hasAudio(before: time) else { return nil }
        return recent.lastIndex { $0.track == .video && $0.isKeyframe && $0.programPts <= audioEnd }
    }

    // MARK: Files

    /// Returns the presentation time of the first frame that begins no earlier than half a frame before `asked`. If no
    /// frames are missing, this is the frame nearest to `asked`. Ignores frames before program time 0, because a file
    /// cannot show them. Returns `asked` if no such frame has arrived.
    private func shown(first asked: ProgramInstant) -> ProgramInstant {
        let earliest = max(.zero, asked - frameLength / 2)
        return recent.lazy.filter { $0.track == .video }.map(\.programPts).filter { $0 >= earliest }.min() ?? asked
    }

    /// Begins a file that shows the program from the frame nearest to `asked` on. Does nothing if no keyframe is kept.
    private mutating func open(at asked: ProgramInstant, _ actions: inout [SegmentAction]) {
        let frames = recent.filter { $0.track == .video }
        let wanted = shown(first: asked)
        guard
            let keyframe = frames.last(where: { $0.isKeyframe && $0.programPts <= wanted })
                ?? frames.first(where: \.isKeyframe)
        else { return }
        let time = max(wanted, keyframe.programPts)
        let heard = recent.first { $0.track == .audio && $0.programPts >= asked }
        let audio = (heard ?? recent.last { $0.track == .audio })?.description
        let packets = recent.filter { $0.track == .audio && $0.description === audio }
        let firstAudio = packets.first { $0.programEnd > time }
        let preRoll = packets.last { $0.programEnd <= time }
        writeWithheld(before: time, &actions)
        actions.append(
            .open(
                SegmentStart(
                    keyframe: keyframe, preRoll: firstAudio == nil ? nil : preRoll, firstAudio: firstAudio,
                    boundary: cuts.first { $0 > time + frameLength / 2 },
                    shown: ShownStart(time: time, asked: asked, continues: isWriting))))
        (isWriting, begun) = (true, time)
        // The new file has an audio track if the previous file has one of the same coding, even if no audio has arrived
        // yet.
        let same = audio === fileAudio ? audio : nil
        (fileVideo, fileAudio, cutFor) = (keyframe.description, firstAudio?.description ?? same, nil)
        cuts.removeAll { $0 <= max(asked, time) }
        cutAtNextAudio(after: max(asked, time))
        write(from: keyframe, preRoll: firstAudio == nil ? nil : preRoll, &actions)
    }

    /// If audio after `time` has already arrived and has another coding, schedules the end of the open file at this
    /// audio.
    private mutating func cutAtNextAudio(after time: ProgramInstant) {
        let next = recent.first {
            $0.track == .audio && $0.programPts >= time && $0.description !== fileAudio
        }
        guard fileAudio != nil, let next else { return }
        cut(at: max(next.programPts, begun + frameLength))
        cutFor = next.description
    }

    /// Begins a file that contains only audio, up to the next keyframe. Its first packet is `packet`, or earlier audio
    /// that has been waiting; `before` is the audio packet before `packet`.
    private mutating func openAudio(
        at packet: EncodedPacket, behind before: EncodedPacket?, _ actions: inout [SegmentAction]
    ) {
        // Audio of a new codec configuration, which the open file cannot contain, might have been waiting for a
        // keyframe. The new file then begins with this waiting audio.
        let waiting =
            packet.description === fileAudio
            ? [] : recent.filter { $0.description === packet.description && $0.programEnd > max(begun, framesEnd) }
        let first = waiting.first ?? packet
        let time = max(first.programPts, min(framesEnd, packet.programPts))
        let preRoll = waiting.isEmpty && before?.description === packet.description ? before : nil
        writeWithheld(before: .distantFuture, &actions)
        actions.append(
            .open(
                SegmentStart(
                    keyframe: first, preRoll: preRoll, firstAudio: first, boundary: cuts.first { $0 > time },
                    shown: ShownStart(time: time, asked: time, continues: true))))
        begun = time
        (fileVideo, fileAudio, cutFor) = (nil, packet.description, nil)
        cuts.removeAll { $0 <= time }
        // Old frames and audio of another codec configuration are not needed any more: the next keyframe does not refer
        // to earlier frames, and audio of another codec configuration has its own file.
        recent.removeAll { $0.track == .video || $0.description !== packet.description }
        bytes = recent.reduce(0) { $0 + $1.payload.count }
        hasGroup = false
        let packets = waiting.isEmpty ? [preRoll, packet].compactMap(\.self) : waiting
        actions += packets.map(SegmentAction.write)
    }

    /// Writes the frames from `keyframe` on, except those that cannot be decoded without earlier frames or have another
    /// coding. Also writes `preRoll`, and the audio that ends after the start of the file's visible part.
    private func write(from keyframe: EncodedPacket, preRoll: EncodedPacket?, _ actions: inout [SegmentAction]) {
        var hasKeyframe = false
        for packet in recent {
            hasKeyframe = hasKeyframe || packet === keyframe
            switch packet.track {
            case .video:
                if hasKeyframe, packet.description === fileVideo, packet.programPts >= keyframe.programPts {
                    actions.append(.write(packet))
                }
            case .audio:
                guard packet.description === fileAudio else { continue }
                if packet === preRoll || packet.programEnd > begun { actions.append(.write(packet)) }
            case .data: break
            }
        }
    }
}
