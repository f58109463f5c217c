// SPDX-License-Identifier: Apache-2.0

import Media
import Synchronization

/// A simulated program at a constant rate, with frames that refer to each other, and with audio. Frame `n` is published
/// after `n` frame intervals on the simulation's clock. Any thread may request a keyframe.
final class SimulatedProgram: KeyframeRequester {
    /// The properties of the program.
    struct Shape: Sendable {
        /// The frame rate. It must divide 1,000,000,000 and 48,000.
        var framesPerSecond: Int64 = 25
        /// The number of frames from one regular keyframe to the next.
        var gop: Int64 = 50
        /// Whether every second frame between keyframes is disposable: no other frame refers to it.
        var hasDisposables = true
        var hasVideo = true
        var hasAudio = true
        /// Whether the encoder makes the keyframes that are requested. A sender whose stream is passed through makes
        /// none.
        var grantsRequests = true
    }

    /// A published frame.
    struct Frame: Sendable {
        let isKeyframe: Bool
        let isDisposable: Bool
        /// The number of the frame to which this frame refers; nil for a keyframe.
        let reference: Int64?
    }

    fileprivate struct State {
        var shape: Shape
        var frames: [Frame] = []
        var count: Int64 = 0
        var lastKeyframe: Int64 = 0
        var lastReference: Int64 = 0
        var isWanted = false
        /// The times at which keyframes were published.
        var keyframeTimes: [MonotonicInstant] = []
    }

    private static let payloads = [300, 500, 800, 1200].map { SharedBytes([UInt8](repeating: 0, count: $0)) }
    private static let keyframePayload = SharedBytes([UInt8](repeating: 0, count: 6000))
    private static let audioPayload = SharedBytes([UInt8](repeating: 0, count: 100))

    /// The duration of a frame.
    let interval: Duration
    let description: StreamDescription
    private let video: TrackDescription
    private let audio: TrackDescription
    /// The number of samples in an audio packet, which is as long as a frame.
    private let samples: Int64
    private let state: Mutex<State>

    /// Creates a program that has not published a frame.
    init(_ shape: Shape) {
        let samples = 48_000 / shape.framesPerSecond
        let video = TrackDescription(
            format: VideoFormat(width: 1280, height: 720, frameRate: FrameRate(Int32(shape.framesPerSecond))),
            decoderConfiguration: SharedBytes([1]), bitrate: 0, reorderDepth: 0, encoderSettings: "")
        let audio = TrackDescription(
            format: .program, decoderConfiguration: SharedBytes([0x11, 0x90]), bitrate: 0, frameLength: Int(samples))
        interval = .seconds(1) / shape.framesPerSecond
        (self.samples, self.video, self.audio) = (samples, video, audio)
        description = StreamDescription(
            video: shape.hasVideo ? video : nil, audio: shape.hasAudio ? audio : nil)
        state = Mutex(State(shape: shape))
    }

    /// The track at whose keyframes a decoder can start.
    var leading: TrackKind { description.leadingKind }

    /// The approximate number of bytes per second of program.
    var bytesPerSecond: Double {
        let shape = state.withLock { $0.shape }
        return Double(shape.framesPerSecond) * (800 + 6000 / Double(shape.gop))
    }

    /// The number of frame intervals that were published.
    var count: Int64 { state.withLock { $0.count } }

    /// When the next frame is due.
    var nextTime: MonotonicInstant { .zero + interval * count }

    func requestKeyframe(at programTime: ProgramInstant?) {
        state.withLock { state in state.isWanted = state.shape.grantsRequests }
    }

    /// Changes the program's properties from its next frame on.
    func change(_ body: (inout Shape) -> Void) { state.withLock { body(&$0.shape) } }

    /// Returns the packets of the next frame interval: first its audio, then its frame.
    func packets() -> [EncodedPacket] {
        let (index, frame, hasAudio) = state.withLock { state -> (Int64, Frame?, Bool) in
            defer { state.count += 1 }
            return (state.count, state.shape.hasVideo ? state.nextFrame(interval) : nil, state.shape.hasAudio)
        }
        var packets: [EncodedPacket] = []
        if hasAudio {
            packets.append(
                EncodedPacket(
                    of: audio, pts: index * samples, dts: index * samples, duration: samples, isKeyframe: true,
                    payload: Self.audioPayload))
        }
        if let frame {
            let payload = frame.isKeyframe ? Self.keyframePayload : Self.payloads[Int(index % 4)]
            packets.append(
                EncodedPacket(
                    of: video, pts: index, dts: index, duration: 1, isKeyframe: frame.isKeyframe,
                    isDisposable: frame.isDisposable, payload: payload))
        }
        return packets
    }

    /// The frame with the number `index`.
    func frame(_ index: Int64) -> Frame { state.withLock { $0.frames[Int(index)] } }

    /// The frame interval to which `packet` belongs.
    func index(of packet: EncodedPacket) -> Int {
        Int(packet.track == .audio ? packet.pts / samples : packet.pts)
    }

    /// When the first keyframe after `time` was published; nil if no keyframe was published.
    func firstKeyframe(after time: MonotonicInstant) -> MonotonicInstant? {
        guard leading == .video else { return nextTime > time + interval ? time + interval : nil }
        return state.withLock { state in
            var index = state.keyframeTimes.count
            while index > 0, state.keyframeTimes[index - 1] > time { index -= 1 }
            return index < state.keyframeTimes.count ? state.keyframeTimes[index] : nil
        }
    }
}

extension SimulatedProgram.State {
    fileprivate mutating func nextFrame(_ interval: Duration) -> SimulatedProgram.Frame {
        let isKeyframe = count == 0 || isWanted || count - lastKeyframe >= shape.gop
        let isDisposable = !isKeyframe && shape.hasDisposables && (count - lastKeyframe) % 2 == 1
        let reference = isKeyframe ? nil : lastReference
        if isKeyframe {
            (lastKeyframe, isWanted) = (count, false)
            keyframeTimes.append(.zero + interval * count)
        }
        if !isDisposable { lastReference = count }
        let frame = SimulatedProgram.Frame(
            isKeyframe: isKeyframe, isDisposable: isDisposable, reference: reference)
        frames.append(frame)
        return frame
    }
}
