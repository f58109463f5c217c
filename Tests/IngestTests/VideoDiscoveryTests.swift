// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import LibAV
import Logging
import Media
import Synchronization
import TestSupport
import Testing

@testable import Ingest

@Suite("Detection of video in a stream joined within a GOP", .serialized, .timeLimit(.minutes(5)))
struct VideoDiscoveryTests {
    /// A transport stream of 160 by 90 at 25 frames a second, without its first keyframe. The stream lasts `seconds`;
    /// its next keyframe follows after 10 s, if the stream lasts that long.
    private func joined(_ codec: String, seconds: Int = 11) throws -> Clip {
        // Disables keyframes at scene changes: for libx264 by 0, for other codecs by a threshold that no scene change
        // reaches.
        let threshold = codec == "mpeg2video" ? "1000000000" : "0"
        let clip = try Clip(
            "-f", "lavfi", "-i", "testsrc2=s=160x90:r=25:d=\(seconds)", "-f", "lavfi", "-i",
            "sine=d=\(seconds):r=48000", "-c:v", codec, "-g", "250", "-keyint_min", "250", "-sc_threshold", threshold,
            "-x265-params", "keyint=250:min-keyint=250:scenecut=0:log-level=none", "-bf", "0", "-preset", "ultrafast",
            "-pix_fmt", "yuv420p", "-color_primaries", "bt709", "-color_trc", "bt709", "-colorspace", "bt709", "-c:a",
            "aac", suffix: ".ts")
        let data = try Data(contentsOf: URL(fileURLWithPath: clip.path))
        try data.dropFirst(data.count / 188 / 10 * 188).write(to: URL(fileURLWithPath: clip.path))
        return clip
    }

    private func open(_ location: InputLocation, log: CollectedLog = CollectedLog()) throws -> OpenedInput {
        try OpenedInput(location, options: IngestOptions(), monitor: SourceMonitor(logger: log.logger))
    }

    @Test(
        "A file that was cut within a GOP has the format of its first decodable frame",
        arguments: ["libx264", "libx265", "mpeg2video"])
    func file(codec: String) throws {
        let clip = try joined(codec)
        let input = try open(InputLocation(clip.path))
        let video = try #require(input.description.video)
        #expect(video.width == 160 && video.height == 90 && video.frameRate == FrameRate(25))
        #expect(codec == "mpeg2video" || video.color == .bt709, "\(video.color)")
        // All packets are read, even those that discovery had read.
        var audio = 0
        while let packet = try input.demuxer.readPacket() {
            if packet.streamIndex == input.audio?.index { audio += 1 }
        }
        #expect(audio > 400, "\(audio)")
    }

    @Test("A file that was cut within a GOP is played from its first keyframe on, even in a loop")
    func played() throws {
        let clip = try joined("libx264")
        let sink = CollectingSink(frames: 60, audio: 1)
        try clip.play(into: sink, loop: true)
        let frames = sink.taken.frames
        // One second of the file is behind the keyframe.
        #expect(frames.count == 60 && frames.allSatisfy { $0.width == 160 && $0.height == 90 })
    }

    @Test(
        "A live input that was joined within a GOP delivers all packets from its next keyframe on"
    )
    func live() throws {
        let clip = try joined("libx264")
        let port = try LoopbackSocket.freePort()
        let opened = Mutex<OpenedInputBox?>(nil)
        let isOpen = DispatchSemaphore(value: 0)
        DispatchQueue(label: "open").async { [self] in
            let input = try? open(InputLocation("udp://127.0.0.1:\(port)"))
            opened.withLock { $0 = input.map(OpenedInputBox.init) }
            isOpen.signal()
        }
        let isSending = Atomic(true)
        DispatchQueue(label: "send").async { [path = clip.path] in
            while isSending.load(ordering: .relaxed) {
                try? Clip.run(
                    "ffmpeg",
                    [
                        "-v", "quiet", "-nostdin", "-readrate", "8", "-i", path, "-c", "copy", "-copyinkf", "-f",
                        "mpegts",
                        "udp://127.0.0.1:\(port)?pkt_size=1316",
                    ])
            }
        }
        #expect(isOpen.wait(timeout: .now() + 120) == .success)
        isSending.store(false, ordering: .relaxed)
        let input = try #require(opened.withLock { $0 }).input
        #expect(input.description.video?.width == 160 && input.description.video?.height == 90)
        let video = try #require(input.video?.index)
        var packet = try #require(try input.demuxer.readPacket())
        while packet.streamIndex != video { packet = try #require(try input.demuxer.readPacket()) }
        #expect(packet.isKeyframe)
    }

    /// Transfers an input from the thread that opened it, which no longer uses it, to the test's thread.
    private final class OpenedInputBox: @unchecked Sendable {
        let input: OpenedInput
        init(_ input: OpenedInput) { self.input = input }
    }

    @Test("A stream without a keyframe is opened with the default frame size, and this is logged")
    func unknown() throws {
        let clip = try joined("libx264", seconds: 9)
        let log = CollectedLog()
        let video = try #require(try open(InputLocation(clip.path), log: log).description.video)
        #expect(video.width == 1280 && video.height == 720 && video.frameRate == FrameRate(25))
        #expect(log.lines(containing: "the video's size is not known").count == 1)
    }

    @Test("Copied packets have a track description made from their first keyframe", arguments: ["libx264", "libx265"])
    func copied(codec: String) throws {
        let clip = try joined(codec)
        let source = LibAVPacketSource(InputLocation(clip.path), loops: false, logger: Logger(label: "test"))
        let stream = try source.open().stream
        #expect(stream.video?.frameFormat?.width == 160 && stream.video?.frameFormat?.height == 90)
        #expect(stream.audio?.codec == .aac)
    }
}
