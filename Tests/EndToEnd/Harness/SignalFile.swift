// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport

/// A recording of the test signal: frames with numbers from 0, B-frames, a keyframe every 2 s, and a beep with each
/// flash.
struct SignalFile: Sendable {
    private let directory: TemporaryDirectory
    let path: String

    /// Records `seconds` seconds of the test signal.
    init(seconds: Int) async throws {
        directory = try TemporaryDirectory()
        let recordings = directory.file("recordings")
        let result = try await RelayProcess.run(
            ["--size", "320x180", "--fps", "30", "--preset", "veryfast", "--video-bitrate", "1M", "--unpaced"]
                + ["--duration", "\(seconds)s", "--record", recordings])
        guard result.ending == .exited(0), let file = RecordingSet(directory: recordings).finished.first else {
            throw HarnessFailure(result.log)
        }
        path = directory.file("signal.mp4")
        try FileManager.default.moveItem(atPath: file, toPath: path)
    }
}
