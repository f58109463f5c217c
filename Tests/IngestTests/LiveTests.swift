// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Glibc
import Ingest
import Logging
import Media
import Synchronization
import Testing

@Suite("Live inputs", .serialized)
struct LiveTests {
    /// Sends `clip` in real time to a UDP port, with all timestamps moved by `offset` seconds.
    private func send(_ clip: Clip, to port: Int, offset: Int) throws {
        try Clip.run(
            "ffmpeg",
            [
                "-v", "error", "-nostdin", "-re", "-i", clip.path, "-c", "copy", "-output_ts_offset", "\(offset)", "-f",
                "mpegts", "udp://127.0.0.1:\(port)?pkt_size=1316",
            ])
    }

    /// A UDP port that the kernel found free just now.
    private func freePort() throws -> Int {
        let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                bind(descriptor, generic, length) == 0 && getsockname(descriptor, generic, &length) == 0
            }
        }
        try #require(isBound)
        return Int(UInt16(bigEndian: address.sin_port))
    }

    @Test("A clock that jumps begins a new timeline, and stopping ends a read that waits for ever")
    func jumpAndStop() throws {
        let clip = try Clip(
            "-f", "lavfi", "-i", "testsrc2=s=320x180:r=25:d=3", "-f", "lavfi", "-i", "sine=440:d=3:r=48000", "-c:v",
            "libx264", "-preset", "ultrafast", "-g", "10", "-pix_fmt", "yuv420p", "-c:a", "aac", suffix: ".ts")
        let port = try freePort()
        let opened = Mutex<(any MediaSource)?>(nil)
        let isOpen = DispatchSemaphore(value: 0)
        let sink = CollectingSink()
        let queue = DispatchQueue(label: "open")
        queue.async {
            let source = try? SourceOpener.open(
                InputLocation("udp://127.0.0.1:\(port)"), options: IngestOptions(), logger: Logger(label: "test"))
            source?.start(into: sink, video: source?.description.video, audio: .program)
            opened.withLock { $0 = source }
            isOpen.signal()
        }
        try send(clip, to: port, offset: 0)
        try send(clip, to: port, offset: 1000)
        #expect(isOpen.wait(timeout: .now() + 20) == .success)
        let source = try #require(opened.withLock { $0 })
        #expect(source.description.isLive)
        source.stop()
        source.stop()
        #expect(sink.waitUntilDone())
        let taken = sink.taken
        #expect(taken.frames.count > 75)
        #expect(taken.frames.filter { $0.nanoseconds == 0 }.count == 1 + taken.restarts)
        #expect(taken.restarts == 1)
        #expect(source.status.state == .ended)
    }
}
