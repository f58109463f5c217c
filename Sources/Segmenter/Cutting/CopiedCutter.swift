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
    /// Program time, in nanoseconds, before which no file shows anything.
    private var earliest = Int64.min
    /// Future program times at which files end, in nanoseconds, sorted.
    private var cuts: [Int64] = []
    /// The packets since the latest keyframe with which the next file could begin, and some audio from before that
    /// keyframe.
    private var recent: [EncodedPacket] = []
    private var (fileVideo, fileAudio): (TrackDescription?, TrackDescription?)
    /// The description of audio with another coding than the open file's, if the end of the open file is already
    /// scheduled because of this audio; otherwise nil.
    private var cutFor: TrackDescription?
    /// Program time from which on the open file shows the program, in nanoseconds; `Int64.min` before the first file.
    private var begun = Int64.min
    /// The duration of the newest frame, in nanoseconds; 40 ms until a frame with a duration arrives.
    private var frameLength: Int64 = 40_000_000

    /// `audioBefore` is the amount of audio from before its first keyframe that a file can need. `patience` is how long
    /// a file waits for the audio of its first frame if no other file is open. Both are in nanoseconds.
    private static let (audioBefore, patience): (Int64, Int64) = (500_000_000, 1_000_000_000)
    private static let mostCuts = 64
    /// Audio counts as interrupted if it is behind the frames by more than `absence`. Frames count as interrupted if
    /// they are behind audio of a new coding by more than `absence`. Audio for later files is kept if it begins at most
    /// `absence` before the newest frame. If no frames arrive, it is kept if it begins at most `keptAudio` plus
    /// `absence` before the newest audio. Both are in nanoseconds.
    private static let (absence, keptAudio): (Int64, Int64) = (1_500_000_000, 5_000_000_000)
    /// The maximum amount of audio after a cut, in nanoseconds, that is withheld from the open file while the next file
    /// has not begun. If no keyframe has arrived with which the next file could begin, no audio is withheld.
    private static let longestWait: Int64 = 50_000_000
    /// If a file must end and no frame arrives during this much audio, the file ends without a keyframe; in
    /// nanoseconds.
    private static let longestAbsence: Int64 = 10_000_000_000
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
    /// Decoding time of the newest frame, in nanoseconds.
    private var newestFrame = Int64.min
    /// The end of the frames that have arrived, in nanoseconds of program time; `Int64.min` without frames.
    private var framesEnd = Int64.min
    private var trimAt = trimStep
    /// The end of the audio that has arrived, in nanoseconds of program time; nil without audio.
    private var audioEnd: Int64?
    /// The amount of audio that has arrived since the last frame.
    private var audioAlone = TrackProgress()

    var nextBoundary: Int64? { cuts.first }

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
        let newest = recent.lazy.filter { $0.track == .video }.map(\.ptsNanoseconds).max()
        if let newest, let begin = isWriting ? cuts.first : begin, newest >= begin - frameLength / 2 {
            open(at: begin, &actions)
        }
        if hasNextCoding, let cut = cuts.first { open(at: cut, &actions) }
        writeWithheld(before: .max, &actions)
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
        (newestFrame, framesEnd, audioEnd) = (.min, .min, nil)
        audioAlone = TrackProgress()
    }

    mutating func passOver(_ packet: EncodedPacket) {}
    mutating func cutNow() -> [SegmentAction] { [] }
    mutating func setProgramStart(_ milliseconds: Int64) {}

    mutating func cut(at time: Int64) {
        guard time > begun + frameLength / 2, !cuts.contains(time) else { return }
        if cuts.count == Self.mostCuts { cuts.removeFirst() }
        cuts.insert(time, at: cuts.firstIndex { $0 > time } ?? cuts.endIndex)
    }

    mutating func wait(until time: Int64) { earliest = time }

    /// Program time at which the next file begins if no file is open, in nanoseconds; nil until a keyframe has arrived.
    private var begin: Int64? {
        recent.first { $0.track == .video }.map { max(earliest, $0.ptsNanoseconds) }
    }

    /// Whether frames whose coding differs from the open file's are waiting for the next file.
    private var hasNextCoding: Bool {
        guard isWriting, let fileVideo, let last = recent.last(where: { $0.track == .video }) else { return false }
        return last.description !== fileVideo
    }

    /// Whether all audio before `time` has arrived, or is so late that the audio counts as interrupted. Also true if no
    /// audio has arrived, or if the open file has no audio.
    private func hasAudio(before time: Int64) -> Bool {
        guard let audioEnd, fileAudio != nil else { return true }
        return audioEnd >= time || newestFrame - audioEnd > Self.absence
    }

    // MARK: Packets

    private mutating func takeFrame(_ frame: EncodedPacket, _ actions: inout [SegmentAction]) {
        audioAlone.passed = 0
        if frame.duration > 0 { frameLength = frame.timeBase.rescale(frame.duration, to: .nanoseconds) }
        // If a frame with another codec configuration arrives while earlier frames still wait for their file, that file
        // begins now, with the waiting frames.
        let last = recent.last { $0.track == .video }
        if !isWriting || hasNextCoding, let last, last.description !== frame.description,
            let begin = isWriting ? cuts.first : begin, last.ptsNanoseconds >= begin - frameLength / 2
        {
            open(at: begin, &actions)
        }
        // A file that contains only audio ends at the first keyframe.
        let isBack = isWriting && fileVideo == nil
        // ``cut(at:)`` ignores a keyframe at the very start of the audio-only file; the next keyframe then requests the
        // cut again.
        if isBack, frame.isKeyframe, cuts.first.map({ $0 > frame.ptsNanoseconds }) ?? true {
            cut(at: frame.ptsNanoseconds)
        }
        let isCodedAnew = isWriting && !isBack && frame.description !== fileVideo
        let isOfGroup = hasGroup && last?.description === frame.description
        if frame.isKeyframe { dropGroup(before: frame, isOfGroup: isOfGroup) }
        let canFollow = isCodedAnew ? isOfGroup : isWriting && !isBack || hasGroup
        guard frame.isKeyframe || canFollow else { return actions.append(.skip(frame)) }
        newestFrame = max(newestFrame, frame.dtsNanoseconds)
        framesEnd = max(framesEnd, frame.ptsNanoseconds + frameLength)
        hasGroup = hasGroup || frame.isKeyframe
        keep(frame)
        if isCodedAnew, !isOfGroup || cuts.isEmpty { cut(at: max(frame.ptsNanoseconds, begun + frameLength)) }
        let reached = frame.dtsNanoseconds - frameLength / 2
        if !isWriting {
            guard let begin else { return }
            let hasAudio = recent.contains { $0.track == .audio && end(of: $0) > begin }
            let waited = frame.dtsNanoseconds - begin
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
    private func canOpen(at cut: Int64, reached: Int64) -> Bool {
        let time = shown(first: cut)
        return reached >= time - frameLength / 2 && hasAudio(before: time)
    }

    private mutating func takeAudio(_ packet: EncodedPacket, _ actions: inout [SegmentAction]) {
        let before = recent.last { $0.track == .audio }
        keep(packet)
        audioEnd = max(audioEnd ?? .min, end(of: packet))
        audioAlone.note(packet)
        guard isWriting, end(of: packet) > begun else { return }
        // The open file cannot contain audio of another codec configuration, so the wait for a frame is shorter if such
        // audio arrives.
        let longest = packet.description === fileAudio ? Self.longestAbsence : Self.absence
        if let cut = cuts.first, packet.ptsNanoseconds >= cut, audioAlone.passed > longest {
            return hasNextCoding ? open(at: cut, &actions) : openAudio(at: packet, behind: before, &actions)
        }
        guard packet.description === fileAudio else {
            // A file describes its audio only once, so audio with another description needs a new file.
            if cutFor !== packet.description { cut(at: max(packet.ptsNanoseconds, begun + frameLength)) }
            cutFor = packet.description
            return
        }
        // Audio after a cut belongs to the next file, which takes it from `recent`. It is also written to the open file
        // if the next file has not begun after ``longestWait``, or if no keyframe has arrived with which it could
        // begin.
        if let cut = cuts.first, packet.ptsNanoseconds >= cut + frameLength / 2 {
            withheld.append(packet)
            let isAlone = packet.ptsNanoseconds - cut > Self.longestWait
            if isAlone || !hasGroup { writeWithheld(before: .max, &actions) }
            return
        }
        actions.append(.write(packet))
    }

    /// Writes the withheld audio that begins before `time` to the open file.
    private mutating func writeWithheld(before time: Int64, _ actions: inout [SegmentAction]) {
        if isWriting {
            actions += withheld.filter { $0.ptsNanoseconds < time }.map(SegmentAction.write)
        }
        withheld = []
    }

    private mutating func keep(_ packet: EncodedPacket) {
        recent.append(packet)
        bytes += packet.payload.count
        if recent.count >= trimAt, packet.track == .audio { trimAudio(at: packet.ptsNanoseconds) }
        guard bytes > Self.mostBytes else { return }
        (recent, bytes) = ([packet], packet.payload.count)
        hasGroup = packet.track == .video && packet.isKeyframe
    }

    /// Drops audio that is too old for any future file; `now` is the time of the newest audio.
    private mutating func trimAudio(at now: Int64) {
        let oldest = max(newestFrame, now - Self.keptAudio) - Self.absence
        recent.removeAll { $0.track == .audio && $0.ptsNanoseconds < oldest }
        bytes = recent.reduce(0) { $0 + $1.payload.count }
        trimAt = recent.count + Self.trimStep
    }

    /// Drops packets that no later file needs. Keeps all packets if the next file is to begin before `keyframe`, at an
    /// earlier keyframe. If late audio with another coding could begin a file at an earlier keyframe, keeps the packets
    /// from that keyframe on. Otherwise keeps only some audio from before `keyframe`. `isOfGroup` means that the frames
    /// before `keyframe` have the same coding as `keyframe`.
    private mutating func dropGroup(before keyframe: EncodedPacket, isOfGroup: Bool) {
        let limit = isWriting ? cuts.first : earliest
        let time = keyframe.ptsNanoseconds
        let isNeeded = isOfGroup || hasGroup && isWriting && fileVideo != nil
        if let limit, limit > .min, time > limit - frameLength, isNeeded { return }
        let first = isOfGroup && isWriting ? groupOfLateAudio(before: time) : nil
        let oldest = (first.map { recent[$0].ptsNanoseconds } ?? time) - Self.audioBefore
        let rest = first.map { Array(recent[$0...]) } ?? []
        let older = recent[..<(first ?? recent.endIndex)]
        recent = older.filter { $0.track == .audio && $0.ptsNanoseconds >= oldest } + rest
        hasGroup = first != nil
        trimAt = recent.count + Self.trimStep
        bytes = recent.reduce(0) { $0 + $1.payload.count }
    }

    /// Returns the index in `recent` of the keyframe with which a file would begin if the coding changed at the next
    /// audio packet; nil if all audio before `time` has arrived, or if the audio is interrupted.
    private func groupOfLateAudio(before time: Int64) -> Int? {
        guard let audioEnd, !hasAudio(before: time) else { return nil }
        return recent.lastIndex { $0.track == .video && $0.isKeyframe && $0.ptsNanoseconds <= audioEnd }
    }

    private func end(of packet: EncodedPacket) -> Int64 {
        packet.timeBase.rescale(packet.pts + packet.duration, to: .nanoseconds)
    }

    // MARK: Files

    /// Returns the presentation time of the first frame that begins no earlier than half a frame before `asked`. If no
    /// frames are missing, this is the frame nearest to `asked`. Ignores frames before program time 0, because a file
    /// cannot show them. Returns `asked` if no such frame has arrived.
    private func shown(first asked: Int64) -> Int64 {
        let earliest = max(0, asked - frameLength / 2)
        return recent.lazy.filter { $0.track == .video }.map(\.ptsNanoseconds).filter { $0 >= earliest }.min() ?? asked
    }

    /// Begins a file that shows the program from the frame nearest to `asked` on. Does nothing if no keyframe is kept.
    private mutating func open(at asked: Int64, _ actions: inout [SegmentAction]) {
        let frames = recent.filter { $0.track == .video }
        let wanted = shown(first: asked)
        guard
            let keyframe = frames.last(where: { $0.isKeyframe && $0.ptsNanoseconds <= wanted })
                ?? frames.first(where: \.isKeyframe)
        else { return }
        let time = max(wanted, keyframe.ptsNanoseconds)
        let heard = recent.first { $0.track == .audio && $0.ptsNanoseconds >= asked }
        let audio = (heard ?? recent.last { $0.track == .audio })?.description
        let packets = recent.filter { $0.track == .audio && $0.description === audio }
        let firstAudio = packets.first { end(of: $0) > time }
        let preRoll = packets.last { end(of: $0) <= time }
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
    private mutating func cutAtNextAudio(after time: Int64) {
        let next = recent.first {
            $0.track == .audio && $0.ptsNanoseconds >= time && $0.description !== fileAudio
        }
        guard fileAudio != nil, let next else { return }
        cut(at: max(next.ptsNanoseconds, begun + frameLength))
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
            ? [] : recent.filter { $0.description === packet.description && end(of: $0) > max(begun, framesEnd) }
        let first = waiting.first ?? packet
        let time = max(first.ptsNanoseconds, min(framesEnd, packet.ptsNanoseconds))
        let preRoll = waiting.isEmpty && before?.description === packet.description ? before : nil
        writeWithheld(before: .max, &actions)
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
                if hasKeyframe, packet.description === fileVideo, packet.ptsNanoseconds >= keyframe.ptsNanoseconds {
                    actions.append(.write(packet))
                }
            case .audio:
                guard packet.description === fileAudio else { continue }
                if packet === preRoll || end(of: packet) > begun { actions.append(.write(packet)) }
            case .data: break
            }
        }
    }
}
