// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Media
internal import Synchronization

/// Receives all media that a file delivers, and keeps the newest frame. All calls may be made on any thread.
final class LastFrame: SourceSink {
    let programTime = ProgramTime()
    private let kept = Mutex<VideoFrame?>(nil)
    private let isOver = DispatchSemaphore(value: 0)

    /// Waits until the file has ended or its source was stopped, and returns the last frame; nil if there was no frame.
    /// Blocks. Call it once.
    func wait() -> VideoFrame? {
        isOver.wait()
        return kept.withLock { $0 }
    }

    func hasRoom(for track: TrackKind) -> Bool { true }
    func waitForRoom(timeout: Duration) {}
    func attach(_ times: any SourceTimes) {}
    func moveAudio(by samples: Int64) {}
    func deliver(_ frame: VideoFrame) { kept.withLock { $0 = frame } }
    func deliver(_ audio: AudioBuffer) {}
    func markStarved(_ track: TrackKind) {}
    func markBehind() {}
    func markCaughtUp() {}
    func end(_ track: TrackKind) { if track == .video { isOver.signal() } }
}
