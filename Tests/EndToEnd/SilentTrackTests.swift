// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

extension SerialRecordings {
    /// Programs in which one of the tracks stops.
    @Suite("Inputs with a track that stops")
    struct SilentTrackTests {
        private let directory: TemporaryDirectory
        private let set: RecordingSet

        init() throws {
            directory = try TemporaryDirectory()
            set = RecordingSet(directory: directory.file("recordings"))
        }

        @Test(
            "After a copied input's video stops, HLS segments appear on time, and kill -9 loses at most 0.6 s of audio"
        )
        func videoStops() async throws {
            let input = directory.file("clip.mkv")
            try await Clip.make(
                input,
                ["-f", "lavfi", "-i", "testsrc2=d=2.3:s=160x90:r=25", "-f", "lavfi", "-i", "sine=d=30:r=48000"]
                    + ["-c:v", "libx264", "-g", "25", "-tune", "zerolatency", "-c:a", "aac", "-b:a", "64k"])
            let playlist = directory.file("live/index.m3u8")
            func segments() -> [Double] {
                let text = (try? String(contentsOfFile: playlist, encoding: .utf8)) ?? ""
                return text.matches(of: /#EXTINF:([0-9.]+),/).compactMap { Double($0.1) }
            }
            let arguments = ["--copy", "--record", set.directory, "--input", input]
            let relay = try RelayProcess(
                arguments + ["--output", "hls:\(directory.file("live"))#segment=1s,list=100"])
            try await eventually("7 s are published", within: .seconds(20)) { segments().reduce(0, +) > 7 }
            let published = segments()
            relay.process.signal(SIGKILL)
            try await relay.process.ending(within: .seconds(5))
            #expect(published.allSatisfy { $0 < 1.5 }, "\(published)")

            let open = try #require(set.open.first)
            let heard = try await Probe.times(open, "a:0").max() ?? 0
            #expect(heard > published.reduce(0, +) - 0.6, "\(heard) s of \(published.reduce(0, +))")
            let next = try await RelayProcess.run(arguments + ["--duration", "1s"])
            #expect(next.ending == .exited(0), "\(next.log)")
            let completed = String(open.dropLast(".part".count))
            let kept = try await Probe.times(completed, "a:0").max() ?? 0
            #expect(abs(kept - heard) < 0.03)
            #expect(try await Probe.times(completed, "v:0").count == 58)
            #expect(try await Probe.complaints(completed).isEmpty)
        }
    }
}
