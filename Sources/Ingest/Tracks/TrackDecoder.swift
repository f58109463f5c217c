// SPDX-License-Identifier: Apache-2.0

internal import LibAV
internal import Logging
internal import Media
internal import Synchronization

/// The compressed packets of one track and their decoder. Used by one thread.
final class TrackDecoder {
    /// What ``next(inputEnded:)`` found.
    enum Output {
        /// A decoded frame.
        case frame(DecodedFrame)
        /// Nothing until another packet is queued.
        case needsPacket
        /// Nothing any more in this round.
        case ended
        /// Nothing any more at all: the decoder itself is broken, not one packet.
        case failed(AVFailure)
    }

    /// What one step of a track came to.
    enum Progress {
        /// Something was decoded.
        case advanced
        /// Another packet must be read first.
        case needsPacket
        /// The round's last frame was delivered.
        case ended
        /// The decoder is broken, or its frames can never be converted.
        case failed(AVFailure)
    }

    /// Errors in a row, with neither a frame nor a packet taken in between, after which a decoder is taken to be broken.
    /// A healthy one reports as many as it has threads, and at the end of a file as many as it holds frames.
    static let stuckLimit = 64
    /// Packets in a row that yield no frame, only errors, after which the status says so, and the log as often as their
    /// number doubles. A stream that is joined in
    /// the middle yields none before its next keyframe.
    static let refusedLimit = 100

    let stream: StreamInfo
    var queue: CompressedQueue
    private let decoder: any PacketDecoder
    private let monitor: SourceMonitor
    private var isDraining = false
    /// Whether packets were left out, so that decoding continues at the next keyframe.
    private var awaitsKeyframe = false
    /// Whether the decoder gives out what it holds, because nothing follows before the next keyframe.
    private var isEmptying = false
    /// Errors since the decoder last took a packet or gave a frame.
    private var stuckErrors = 0
    /// Errors since the decoder last gave a frame.
    private var errorsInARow = 0
    /// Sees whether the decoder refuses everything.
    private(set) var refusal = DecodingRefusal()
    /// Whether a decoder that refuses everything has failed, as that of a live track has.
    private var failsWhenRefusing = false
    /// Where the last packet of audio ends, in ticks.
    private var audioEnd: Int64?
    /// Audio behind a longer hole has nothing in common with what was before it.
    private static let hole = Duration.milliseconds(100)

    init(_ stream: StreamInfo, decoder: any PacketDecoder, monitor: SourceMonitor) {
        self.stream = stream
        self.decoder = decoder
        self.monitor = monitor
        queue = CompressedQueue(timeBase: stream.timeBase)
    }

    /// Lets the track fail when its decoder refuses everything, see ``DecodingRefusal``. Without it packets that are refused
    /// are counted, however many.
    func watch() { failsWhenRefusing = true }

    /// Continues for `other`, whose decoder is broken, with what waits there to be decoded: from a keyframe on, unless it
    /// `beginsAnywhere`.
    func takeOver(from other: TrackDecoder, beginsAnywhere: Bool) {
        (queue, other.queue) = (other.queue, queue)
        if !beginsAnywhere { queue.dropToKeyframe() }
        refusal = other.refusal
        refusal.noteReplacement()
        (errorsInARow, audioEnd) = (other.errorsInARow, other.audioEnd)
    }

    /// The next frame. An error is counted and costs the packet that it is about; decoding continues behind it. A
    /// decoder that does nothing but fail is given up after ``stuckLimit`` errors, so that this always returns.
    func next(inputEnded: Bool) -> Output {
        while true {
            do throws(AVFailure) {
                if let output = try step(inputEnded: inputEnded) { return output }
            } catch {
                count(error)
                if stuckErrors >= Self.stuckLimit { return isDraining ? .ended : .failed(error) }
                if failsWhenRefusing, refusal.isOver, !isDraining { return .failed(error) }
            }
        }
    }

    /// Takes a frame out, or puts a packet in; nil when there is more to do.
    private func step(inputEnded: Bool) throws(AVFailure) -> Output? {
        switch try decoder.receive() {
        case .frame(let frame):
            (stuckErrors, errorsInARow) = (0, 0)
            refusal.noteFrame()
            if frame.isDamaged { monitor.update { $0.decodeErrors += 1 } }
            if decoder.repairedSamples > 0 { monitor.noteRepairedSamples(of: decoder.subject) }
            return .frame(frame)
        case .ended where isEmptying:
            decoder.flush()
            isEmptying = false
            return nil
        case .ended:
            return .ended
        case .needsPacket:
            if isDraining { return .ended }
            if let packet = queue.popFirst() {
                // Whether it is taken or refused, the packet is used up: that is progress.
                stuckErrors = 0
                // A codec's frames overlap: the first one would bring the end of what was before the hole.
                if isBehindHole(packet) { decoder.flush() }
                if admits(packet) {
                    note(packet)
                    try decoder.send(packet)
                } else if isEmptying {
                    try decoder.send(nil)
                }
            } else if inputEnded {
                isDraining = true
                try decoder.send(nil)
            } else {
                return .needsPacket
            }
            return nil
        }
    }

    /// Whether the packet is to be decoded: all are, unless only keyframes are wanted. A decoder that puts frames in order and
    /// has threads gives one out when others came in: of keyframes alone each would be some of their distances late, and is
    /// never shown. So at the first packet that is left out it is to give out what it holds.
    private func admits(_ packet: PacketBox) -> Bool {
        guard stream.kind == .video else { return true }
        if packet.isKeyframe {
            awaitsKeyframe = false
            return true
        }
        if !awaitsKeyframe, monitor.decodesKeyframesOnly { (awaitsKeyframe, isEmptying) = (true, true) }
        if awaitsKeyframe { monitor.update { $0.framesSkipped += 1 } }
        return !awaitsKeyframe
    }

    private func note(_ packet: PacketBox) {
        guard let time = packet.dts ?? packet.pts else { return }
        refusal.note(
            packetAt: stream.timeBase.duration(time), isKeyframe: stream.kind == .audio || packet.isKeyframe)
    }

    private func isBehindHole(_ packet: PacketBox) -> Bool {
        guard stream.kind == .audio, let time = packet.dts ?? packet.pts else { return false }
        defer { audioEnd = time &+ packet.duration }
        return audioEnd.map { stream.timeBase.duration(time &- $0) > Self.hole } ?? false
    }

    private func count(_ error: AVFailure) {
        stuckErrors += 1
        errorsInARow += 1
        refusal.noteError()
        let isReported = errorsInARow % Self.refusedLimit == 0
        monitor.update {
            $0.decodeErrors += 1
            if isReported { $0.lastError = "\(error) (\(errorsInARow) errors in a row)" }
        }
        let times = errorsInARow / Self.refusedLimit
        guard isReported, times & (times - 1) == 0 else { return }
        monitor.logger.warning(
            "nothing can be decoded", metadata: ["reason": "\(error)", "errors_in_a_row": "\(errorsInARow)"])
    }

    /// When `frame` is to be shown or heard, in ticks of the stream; nil if that is not known, or not believed.
    func time(of frame: DecodedFrame) -> Int64? { stream.timeBase.believed(frame.pts) }

    /// Makes ready for packets from another place.
    func flush() {
        queue.removeAll()
        decoder.flush()
        audioEnd = nil
        (isDraining, isEmptying) = (false, false)
        stuckErrors = 0
    }
}

/// What a track needs of a decoder: ``LibAV/Decoder``, or one that a test made.
protocol PacketDecoder: AnyObject {
    /// Samples of audio that could not be right, and were replaced.
    var repairedSamples: Int64 { get }
    /// How errors name the coding and the input.
    var subject: String { get }
    func send(_ packet: PacketBox?) throws(AVFailure)
    func receive() throws(AVFailure) -> Decoder.Output
    func flush()
}

extension PacketDecoder {
    var repairedSamples: Int64 { 0 }
    var subject: String { "" }
}

extension Decoder: PacketDecoder {}
