// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Cuts what somebody else encoded, whose keyframes come when they come.
///
/// A file shows what begins with the frame nearest to where it was to begin, and holds all from the keyframe at or before that
/// on; the file before holds all that is decoded until then, and so the frames that its last ones refer to. So each packet is in
/// one file or in two, and each frame is shown by one. Packets come in the order of their decoding times, audio with the frames
/// that are decoded when it is heard.
struct CopiedCutter: SegmentCutting {
    private var isWriting = false
    /// No file shows anything from before this program time, in nanoseconds.
    private var earliest = Int64.min
    /// Program times to come at which files end, in nanoseconds, in their order.
    private var cuts: [Int64] = []
    /// What came since the keyframe that the next file may have to begin with, and some audio from before it.
    private var recent: [EncodedPacket] = []
    private var (fileVideo, fileAudio): (TrackDescription?, TrackDescription?)
    /// Audio of another coding, for which the open file ends.
    private var cutFor: TrackDescription?
    /// What the open file shows first.
    private var begun = Int64.min
    /// How long a frame lasts, in nanoseconds.
    private var frameLength: Int64 = 40_000_000

    /// Audio that a file may still need from before its keyframe, and how long the first file waits for audio that never came,
    /// in nanoseconds.
    private static let (audioBefore, patience): (Int64, Int64) = (500_000_000, 1_000_000_000)
    private static let mostCuts = 64
    /// A keyframe that never comes must not cost all memory.
    private static let mostBytes = 192 << 20
    private var bytes = 0

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
        if isWriting { actions.append(.close) }
        forget()
        return actions
    }

    mutating func interrupt() -> [SegmentAction] {
        defer { forget() }
        return isWriting ? [.close] : []
    }

    private mutating func forget() { (isWriting, recent, bytes) = (false, [], 0) }

    mutating func passOver(_ packet: EncodedPacket) {}
    mutating func cutNow() -> [SegmentAction] { [] }
    mutating func setProgramStart(_ milliseconds: Int64) {}

    mutating func cut(at time: Int64) {
        guard time > begun + frameLength / 2, !cuts.contains(time) else { return }
        if cuts.count == Self.mostCuts { cuts.removeFirst() }
        cuts.insert(time, at: cuts.firstIndex { $0 > time } ?? cuts.endIndex)
    }

    mutating func wait(until time: Int64) { earliest = time }

    /// Where the first file is to begin; nil as long as no keyframe came.
    private var begin: Int64? {
        recent.first { $0.track == .video }.map { max(earliest, $0.ptsNanoseconds) }
    }

    // MARK: Packets

    private mutating func takeFrame(_ frame: EncodedPacket, _ actions: inout [SegmentAction]) {
        if frame.duration > 0 { frameLength = frame.timeBase.rescale(frame.duration, to: .nanoseconds) }
        let isCodedAnew = isWriting && frame.description !== fileVideo
        if frame.isKeyframe { dropGroup(before: frame, isCodedAnew: isCodedAnew) }
        let canFollow = !isCodedAnew && recent.contains { $0.track == .video }
        guard frame.isKeyframe || canFollow else {
            return actions.append(.skip(frame))
        }
        keep(frame)
        let reached = frame.dtsNanoseconds - frameLength / 2
        if isCodedAnew {
            open(at: frame.ptsNanoseconds, &actions)
        } else if !isWriting {
            guard let begin else { return }
            let hasAudio = recent.contains { $0.track == .audio }
            let waited = frame.dtsNanoseconds - begin
            // What is heard with the first frame has come by then.
            if reached >= begin, hasAudio || waited > Self.patience {
                open(at: begin, &actions)
            }
        } else if let cut = cuts.first, reached >= cut {
            open(at: cut, &actions)
        } else {
            actions.append(.write(frame))
        }
    }

    private mutating func takeAudio(_ packet: EncodedPacket, _ actions: inout [SegmentAction]) {
        keep(packet)
        guard isWriting, end(of: packet) > begun else { return }
        guard packet.description === fileAudio else {
            // A file describes its audio once.
            if cutFor !== packet.description { cut(at: max(packet.ptsNanoseconds, begun + frameLength)) }
            cutFor = packet.description
            return
        }
        // What lies behind a cut the next file has, from `recent`.
        if let cut = cuts.first, packet.ptsNanoseconds >= cut + frameLength / 2 { return }
        actions.append(.write(packet))
    }

    private mutating func keep(_ packet: EncodedPacket) {
        recent.append(packet)
        bytes += packet.payload.count
        guard bytes > Self.mostBytes else { return }
        (recent, bytes) = ([packet], packet.payload.count)
    }

    /// Forgets what no file needs that begins with `keyframe` or behind it.
    private mutating func dropGroup(before keyframe: EncodedPacket, isCodedAnew: Bool) {
        let limit = isWriting ? cuts.first : earliest
        let time = keyframe.ptsNanoseconds
        if let limit, limit > .min, time > limit - frameLength, !isCodedAnew,
            recent.contains(where: { $0.track == .video })
        {
            return
        }
        recent.removeAll { packet in
            packet.track == .video || packet.ptsNanoseconds < time - Self.audioBefore
        }
        bytes = recent.reduce(0) { $0 + $1.payload.count }
    }

    private func end(of packet: EncodedPacket) -> Int64 {
        packet.timeBase.rescale(packet.pts + packet.duration, to: .nanoseconds)
    }

    // MARK: Files

    /// Begins a file that shows what begins with the frame nearest to `asked`.
    private mutating func open(at asked: Int64, _ actions: inout [SegmentAction]) {
        let frames = recent.filter { $0.track == .video }
        // Of what is shown before the program begins a file cannot tell.
        let wanted = frames.map(\.ptsNanoseconds).filter { $0 >= max(0, asked - frameLength / 2) }.min() ?? asked
        guard
            let keyframe = frames.last(where: { $0.isKeyframe && $0.ptsNanoseconds <= wanted })
                ?? frames.first(where: \.isKeyframe)
        else { return }
        let time = max(wanted, keyframe.ptsNanoseconds)
        let audio = recent.last { $0.track == .audio }?.description
        let packets = recent.filter { $0.track == .audio && $0.description === audio }
        let firstAudio = packets.first { end(of: $0) > time }
        let preRoll = packets.last { end(of: $0) <= time }
        actions.append(
            .open(
                SegmentStart(
                    keyframe: keyframe, preRoll: firstAudio == nil ? nil : preRoll, firstAudio: firstAudio,
                    boundary: cuts.first { $0 > time + frameLength / 2 },
                    shown: ShownStart(time: time, asked: asked, continues: isWriting))))
        (isWriting, begun) = (true, time)
        // A file has the tracks of the one before, even where nothing of them came yet.
        let same = audio === fileAudio ? audio : nil
        (fileVideo, fileAudio, cutFor) = (keyframe.description, firstAudio?.description ?? same, nil)
        cuts.removeAll { $0 <= max(asked, time) }
        write(from: keyframe, preRoll: firstAudio == nil ? nil : preRoll, &actions)
    }

    /// Writes what came since `keyframe`, but for frames that cannot be decoded without what was before it.
    private func write(from keyframe: EncodedPacket, preRoll: EncodedPacket?, _ actions: inout [SegmentAction]) {
        var hasKeyframe = false
        for packet in recent {
            hasKeyframe = hasKeyframe || packet === keyframe
            switch packet.track {
            case .video:
                if hasKeyframe, packet.ptsNanoseconds >= keyframe.ptsNanoseconds { actions.append(.write(packet)) }
            case .audio:
                guard packet.description === fileAudio else { continue }
                if packet === preRoll || end(of: packet) > begun { actions.append(.write(packet)) }
            case .data: break
            }
        }
    }
}
