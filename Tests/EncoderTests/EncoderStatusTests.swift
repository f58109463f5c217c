// SPDX-License-Identifier: Apache-2.0

import Media
import TestSupport
import Testing

@testable import Encoder

@Suite("The encoder's speed")
struct EncoderStatusTests {
    private func status(caller: Double, threads: Double, process: Double, cores: Int) -> EncoderStatus {
        var status = EncoderStatus()
        (status.callerSeconds, status.threadSeconds, status.processSeconds) = (caller, threads, process)
        (status.cores, status.threads) = (cores, cores)
        return status
    }

    @Test("The encoder's speed follows from the thread, or the threads per core, that take the longest")
    func longest() {
        let before = status(caller: 1, threads: 10, process: 20, cores: 4)
        func speed(_ caller: Double, _ threads: Double, _ process: Double) -> Double {
            status(caller: 1 + caller, threads: 10 + threads, process: 20 + process, cores: 4)
                .speed(since: before, programSeconds: 2)
        }
        // The program's thread: 1 s for 2 s of program.
        #expect(speed(1, 1, 2) == 2)
        // x264's threads: 8 s on four cores.
        #expect(speed(0.5, 8, 8) == 1)
        // All threads of the process: 10 s on four cores.
        #expect(speed(0.5, 4, 10) == 0.8)
        #expect(speed(0, 0, 0) == 0)
    }

    @Test("If x264 has fewer threads than there are cores, the number of its threads limits the encoder's speed")
    func fewThreads() {
        var now = status(caller: 0, threads: 2, process: 2, cores: 16)
        now.threads = 2
        #expect(now.speed(since: EncoderStatus(), programSeconds: 1) == 1)
    }

    @Test("A live encoder starts no more threads than there are cores that the process may use")
    func restrictedCores() throws {
        let format = VideoFormat(width: 640, height: 360, frameRate: FrameRate(30))
        let encoder = try OneCore.run { try X264Encoder(settings: EncoderSettings(), format: format) }
        #expect(encoder.parallelism == 1)
    }

    @Test("The encoder's CPU time includes that of x264's own threads")
    func threadsCount() throws {
        let sink = Discarding()
        var settings = EncoderSettings()
        settings.preset = .medium
        let format = VideoFormat(width: 640, height: 360, frameRate: FrameRate(30))
        let session = try EncoderSession(settings: settings, video: format, audio: .program, sink: sink)
        #expect(session.status.cores >= 1 && session.status.threads >= 1)
        var noise: UInt32 = 1
        for index in Int64(0)..<60 {
            let buffer = FrameBuffer(width: 640, height: 360) { bytes in
                for offset in bytes.indices {
                    noise = noise &* 1_664_525 &+ 1_013_904_223
                    bytes[offset] = UInt8(noise >> 24)
                }
            }
            try session.encode(
                VideoFrame(pts: index, timeBase: format.frameRate.timeBase, width: 640, height: 360, storage: buffer),
                at: index)
        }
        let status = session.status
        // With one thread x264 uses the calling thread, and has no thread of its own.
        #expect(status.threads == 1 || status.threadSeconds > status.callerSeconds)
        #expect(status.processSeconds >= status.threadSeconds + status.callerSeconds)
        try session.finish()
    }

    @Test("Sessions that are opened at the same time do not count one another's threads")
    func openedTogether() async throws {
        let (settings, format) = (EncoderSettings(), VideoFormat(width: 640, height: 360, frameRate: FrameRate(30)))
        let alone = try X264Encoder(settings: settings, format: format).threads.count
        let counts = try await withThrowingTaskGroup(of: Int.self) { group -> [Int] in
            for _ in 0..<8 { group.addTask { try X264Encoder(settings: settings, format: format).threads.count } }
            var counts: [Int] = []
            for try await count in group { counts.append(count) }
            return counts
        }
        #expect(counts == Array(repeating: alone, count: 8))
    }
}

private final class Discarding: PacketSink {
    func publish(_ packet: EncodedPacket) {}
    func finish() {}
}
