// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Ingest
import Media
import Synchronization

/// A sink that stores all frames and audio, up to given limits.
final class CollectingSink: SourceSink {
    struct Inspected {
        var nanoseconds: Int64
        /// The place of a live source's frame in the program; nil for other sources.
        var position: ProgramInstant?
        var width: Int
        var height: Int
        var region: FrameRegion?
        var counter: UInt32?
        /// Luma in the middle of each of the four quarters, row by row, and in the middle of the frame.
        var luma: [UInt8]
        /// The Cb value in the middle of the frame.
        var middleU: UInt8
        /// The Cr value in the middle of the frame.
        var middleV: UInt8
    }

    struct Taken {
        var frames: [Inspected] = []
        /// The first channel by position; samples that were not delivered are zero.
        var audio: [Float] = []
        var firstAudio: Int64?
        /// Positions at which delivered audio did not directly follow the audio before it.
        var jumps: [Int64] = []
        var ended: Set<TrackKind> = []
        /// Tracks of which a frame or audio was delivered after their end.
        var late: Set<TrackKind> = []
        var starved: Set<TrackKind> = []
        var isImage = false
        /// How often a live source's audio was moved in one step.
        var moves = 0
        var nextAudio: Int64?
    }

    private let frameLimit: Int
    private let audioLimit: Int64
    private let readsCounter: Bool
    private let state = Mutex(Taken())
    private let times = Mutex<(any SourceTimes)?>(nil)
    private let done = DispatchSemaphore(value: 0)
    private let gate = DispatchSemaphore(value: 0)

    /// The time of a program that began when the sink was made.
    let programTime = ProgramTime(
        ProgramClockLine(origin: SystemClock().now, image: .zero, rate: 0))

    init(frames: Int = .max, audio: Int64 = .max, readsCounter: Bool = false) {
        frameLimit = frames
        audioLimit = audio
        self.readsCounter = readsCounter
    }

    var taken: Taken { state.withLock { $0 } }

    /// Blocks until both tracks have reached their limit or their end; returns false after 30 s.
    func waitUntilDone() -> Bool { done.wait(timeout: .now() + 30) == .success }

    func hasRoom(for track: TrackKind) -> Bool {
        state.withLock { track == .video ? $0.frames.count < frameLimit : ($0.nextAudio ?? 0) < audioLimit }
    }

    func markBehind() {}
    func markCaughtUp() {}
    func waitForRoom(timeout: Duration) { _ = gate.wait(timeout: .now() + timeout.inSeconds) }

    func deliver(_ frame: VideoFrame) {
        let seen = inspect(frame)
        change { taken in
            if taken.ended.contains(.video) { taken.late.insert(.video) }
            taken.frames.append(seen)
        }
    }

    func deliver(_ audio: AudioBuffer) {
        change { taken in
            if taken.ended.contains(.audio) { taken.late.insert(.audio) }
            if taken.firstAudio == nil { taken.firstAudio = audio.position }
            if let next = taken.nextAudio, next != audio.position { taken.jumps.append(audio.position) }
            taken.nextAudio = audio.end
            if taken.audio.count < audio.end {
                taken.audio += [Float](repeating: 0, count: Int(audio.end) - taken.audio.count)
            }
            for (index, sample) in audio.channels[0].enumerated() { taken.audio[Int(audio.position) + index] = sample }
        }
    }

    func markStarved(_ track: TrackKind) { change { _ = $0.starved.insert(track) } }
    func markImage() { change { $0.isImage = true } }
    func end(_ track: TrackKind) { change { _ = $0.ended.insert(track) } }
    func moveAudio(by samples: Int64) { change { $0.moves += 1 } }
    func attach(_ times: any SourceTimes) { self.times.withLock { $0 = times } }

    private func change(_ body: (inout Taken) -> Void) {
        let isDone = state.withLock { taken in
            body(&taken)
            let video = taken.ended.contains(.video) || taken.frames.count >= frameLimit
            let audio = taken.ended.contains(.audio) || (taken.nextAudio ?? 0) >= audioLimit
            return video && audio
        }
        if isDone { done.signal() }
    }

    private func inspect(_ frame: VideoFrame) -> Inspected {
        let due = times.withLock { $0 }?.due(Timestamp(frame.pts, in: frame.timeBase), of: .video)
        let position = due.flatMap { programTime.line?.image(of: $0) }
        return frame.storage.withPlanes { planes in
            let luma = UnsafeRawBufferPointer(
                start: planes.y.bytes, count: planes.y.stride * (frame.height - 1) + frame.width)
            func at(_ x: Int, _ y: Int) -> UInt8 { luma[y * planes.y.stride + x] }
            let (w, h) = (frame.width, frame.height)
            func middle(_ plane: Planes.Plane) -> UInt8 {
                plane.bytes.load(fromByteOffset: h / 4 * plane.stride + w / 4, as: UInt8.self)
            }
            return Inspected(
                nanoseconds: frame.timeBase.rescale(frame.pts, to: .nanoseconds), position: position, width: w,
                height: h, region: frame.region,
                counter: readsCounter
                    ? FrameCounterCode.decode(luma: luma, width: w, height: h, stride: planes.y.stride) : nil,
                luma: [
                    at(w / 4, h / 4), at(w * 3 / 4, h / 4), at(w / 4, h * 3 / 4), at(w * 3 / 4, h * 3 / 4),
                    at(w / 2, h / 2), at(2, h / 2), at(w / 2, 2),
                ],
                middleU: middle(planes.u), middleV: middle(planes.v))
        }
    }
}
