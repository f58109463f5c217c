// SPDX-License-Identifier: Apache-2.0

/// Makes files to play for a test.
enum Clip {
    /// Makes the test signal at 320 by 180 and 30 frames per second, with numbers from 0. Everything except the numbers
    /// is covered with noise, which no encoder can compress well.
    static func noisy(seconds: Int, in directory: TemporaryDirectory) async throws -> String {
        let plain = directory.file("plain")
        let result = try await RelayProcess.run(
            Shape.small + ["--unpaced", "--duration", "\(seconds)s", "--record", plain])
        guard result.ending == .exited(0), let path = RecordingSet(directory: plain).finished.first else {
            throw HarnessFailure("The test signal could not be recorded: \(result.log)")
        }
        let noisy = directory.file("noisy.mp4")
        try await make(
            noisy,
            [
                "-i", path, "-filter_complex",
                "[0:v]split[a][b];[a]crop=320:144:0:0,noise=alls=90:allf=t[c];[b][c]overlay=0:0[v]",
                "-map", "[v]", "-map", "0:a", "-c:a", "copy", "-c:v", "libx264", "-preset", "ultrafast", "-qp", "18",
            ])
        return noisy
    }

    /// Runs ffmpeg with `arguments` to make `path`.
    static func make(_ path: String, _ arguments: [String]) async throws {
        try await run("ffmpeg", ["-v", "error", "-nostdin", "-y"] + arguments + [path])
    }
}
