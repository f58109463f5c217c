// SPDX-License-Identifier: Apache-2.0

internal import LibAV
internal import Logging
internal import Media
internal import Synchronization

/// The compressed packets of one track and their decoder. Used by one thread.
final class TrackDecoder {
    /// The result of ``next(inputEnded:)``.
    enum Output {
        /// A decoded frame.
        case frame(DecodedFrame)
        /// There is no frame until another packet is queued.
        case needsPacket
        /// There are no further frames before the next ``TrackDecoder/flush()``: the input has ended, and the decoder
        /// is drained.
        case ended
        /// There are no further frames at all: the decoder itself is broken, not just one packet.
        case failed(AVFailure)
    }

    /// The result of a call of a track's `step` method.
    enum Progress {
        /// A frame or a run of audio was decoded.
        case advanced
        /// Another packet must be read first.
        case needsPacket
        /// The last frame or audio before the end of the input was delivered. A looped file can begin another round.
        case ended
        /// The decoder is broken, or its frames can never be converted.
        case failed(AVFailure)
    }

    /// The number of consecutive errors, without a frame or an accepted packet in between, after which a decoder counts
    /// as broken. A healthy decoder can report as many errors as it has threads. At the end of a file it can report as
    /// many errors as it retains frames.
    static let stuckLimit = 64
    /// The number of consecutive errors without a frame after which the status reports them. The log reports them at
    /// this number, and then each time the number has doubled. A stream that is joined in the middle has no frame
    /// before its next keyframe.
    static let refusedLimit = 100

    let stream: StreamInfo
    var queue: CompressedQueue
    private let decoder: any PacketDecoder
    private let monitor: SourceMonitor
    private var isDraining = false
    /// Whether packets were skipped, so that decoding continues at the next keyframe.
    private var awaitsKeyframe = false
    /// Whether the decoder is being drained, because no packet before the next keyframe will be decoded.
    private var isEmptying = false
    /// Errors since the decoder last accepted a packet or output a frame.
    private var stuckErrors = 0
    /// Errors since the decoder last output a frame.
    private var errorsInARow = 0
    /// Finds out whether the decoder refuses every packet.
    private(set) var refusal = DecodingRefusal()
    /// Whether a decoder that refuses every packet counts as failed. True for live tracks.
    private var failsWhenRefusing = false
    /// The end of the last packet of audio, in ticks of the stream.
    private var audioEnd: Int64?
    /// The longest gap in audio that does not require the decoder to be flushed.
    private static let hole = Duration.milliseconds(100)

    init(_ stream: StreamInfo, decoder: any PacketDecoder, monitor: SourceMonitor) {
        self.stream = stream
        self.decoder = decoder
        self.monitor = monitor
        queue = CompressedQueue(timeBase: stream.timeBase)
    }

    /// Makes the track fail if its decoder refuses every packet, see ``DecodingRefusal``. Without this call, refused
    /// packets are only counted.
    func watch() { failsWhenRefusing = true }

    /// Replaces `other`, whose decoder is broken: continues with the packets in the queue of `other`. Decoding begins
    /// at a keyframe, unless `beginsAnywhere` is set.
    func takeOver(from other: TrackDecoder, beginsAnywhere: Bool) {
        (queue, other.queue) = (other.queue, queue)
        if !beginsAnywhere { queue.dropToKeyframe() }
        refusal = other.refusal
        refusal.noteReplacement()
        (errorsInARow, audioEnd) = (other.errorsInARow, other.audioEnd)
    }

    /// Returns the next frame. Each error is counted and its packet is lost; decoding continues with the next packet.
    /// If the decoder only reports errors, the function returns after ``stuckLimit`` of them: ``Output/ended`` if the
    /// decoder is being drained, and otherwise ``Output/failed(_:)``.
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

    /// Returns a frame of the decoder, or passes a queued packet to the decoder; nil if the caller must call again.
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
                // The packet has left the queue even if the decoder then refuses the packet, so this counts as
                // progress.
                stuckErrors = 0
                // Consecutive frames of an audio codec overlap. Without a flush, the first frame after the gap would
                // contain the end of the audio before the gap.
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

    /// Whether the packet must be decoded. All packets must be decoded unless only keyframes are wanted. A decoder that
    /// reorders frames or uses threads outputs a frame only after it has received further frames. If it received only
    /// keyframes, each frame would be several keyframe intervals late and would never be shown. Therefore the decoder
    /// is drained at the first packet that is skipped.
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
            packetAt: Timestamp(time, in: stream.timeBase), isKeyframe: stream.kind == .audio || packet.isKeyframe)
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
        guard isReported, times.isLoggedOccurrence else { return }
        monitor.logger.warning(
            "nothing can be decoded", metadata: ["reason": "\(error)", "errors_in_a_row": "\(errorsInARow)"])
    }

    /// When `frame` should be presented, in ticks of the stream; nil if its time is unknown or implausible.
    func time(of frame: DecodedFrame) -> Int64? { stream.timeBase.believed(frame.pts) }

    /// Drops the queued packets and resets the decoder, to prepare for packets from another position in the input.
    func flush() {
        queue.removeAll()
        decoder.flush()
        audioEnd = nil
        (isDraining, isEmptying) = (false, false)
        stuckErrors = 0
    }
}

/// The interface of a decoder for a track: ``LibAV/Decoder``, or a decoder that a test made.
protocol PacketDecoder: AnyObject {
    /// The number of audio samples that were invalid and were replaced.
    var repairedSamples: Int64 { get }
    /// The name of the codec and of the input in errors.
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
