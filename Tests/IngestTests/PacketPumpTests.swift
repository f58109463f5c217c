// SPDX-License-Identifier: Apache-2.0

import Dispatch
import LibAV
import Media
import Synchronization
import TestSupport
import Testing

@testable import Ingest

@Suite("The pump of live inputs", .timeLimit(.minutes(2)))
struct PacketPumpTests {
    @Test("Ending it waited for the deadline of a read for which nothing came")
    func finish() throws {
        let clip = try Clip(
            "-f", "lavfi", "-i", "testsrc2=s=160x90:r=25:d=12", "-c:v", "libx264", "-preset", "ultrafast", "-g", "25",
            "-pix_fmt", "yuv420p", suffix: ".ts")
        let port = try LoopbackSocket.freePort()
        // On this clock no deadline ever passes.
        let monitor = SourceMonitor(interrupter: Interrupter(clock: ManualClock()))
        let isSending = Atomic(true)
        DispatchQueue(label: "send").async { [path = clip.path] in
            while isSending.load(ordering: .relaxed) {
                try? Clip.run(
                    "ffmpeg",
                    [
                        "-v", "error", "-nostdin", "-readrate", "8", "-i", path, "-c", "copy", "-f", "mpegts",
                        "udp://127.0.0.1:\(port)?pkt_size=1316",
                    ])
            }
        }
        let input = try OpenedInput(
            InputLocation("udp://127.0.0.1:\(port)"), options: IngestOptions(), monitor: monitor)
        isSending.store(false, ordering: .relaxed)
        let video = try #require(input.video?.stream)
        let timing = SourceTiming(
            SourceClock(.transportStream, tracks: input.stamps), frameRate: FrameRate(25), programTime: ProgramTime(),
            name: "in",
            monitor: monitor)
        let pump = PacketPump(
            input.demuxer, tracks: [.init(kind: .video, index: video.index, timeBase: video.timeBase)], timing: timing,
            monitor: monitor)
        pump.start()
        try eventually("something was read") { monitor.status.packetsRead > 0 }
        pump.finish()
        #expect(!monitor.isStopped)
    }
}
