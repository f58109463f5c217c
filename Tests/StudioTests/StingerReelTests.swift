// SPDX-License-Identifier: Apache-2.0

import Foundation
import Logging
import Media
import TestSupport
import Testing

@testable import Studio

@Suite("Playing a stinger")
struct StingerReelTests {
    /// A video of two seconds, in which gray becomes brighter.
    private func make(in directory: TemporaryDirectory) throws -> String {
        let path = directory.path("card.mov")
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [
            "ffmpeg", "-v", "error", "-nostdin", "-f", "lavfi", "-i",
            "color=black:size=64x36:rate=25:duration=2,format=rgba,geq=r=5*N:g=5*N:b=5*N:a=255", "-c:v", "qtrle", path,
        ]
        try process.run()
        process.waitUntilExit()
        try #require(process.terminationStatus == 0)
        return path
    }

    /// Whether `frame` is the frame of this number.
    private func isFrame(_ number: Int64, _ frame: VideoFrame?) -> Bool {
        guard let frame else { return false }
        let luma = frame.storage.withPlanes { Double($0.y.bytes.load(as: UInt8.self)) }
        return abs(luma - (16 + 219 * Double(5 * number) / 255)) <= 2
    }

    @Test("A stinger that is rewound while it is shown restarts at once, and its frames continue in order")
    func again() throws {
        let directory = try TemporaryDirectory()
        let specification = try StingerSpecification("card=\(try make(in: directory))#cut=1")
        let format = VideoFormat(width: 64, height: 36, frameRate: FrameRate(25))
        let reel = try StingerReel(specification, format: format, logger: Logger(label: "test"))
        defer { reel.stop() }
        #expect(reel.frames == 50 && reel.cut == 25)
        try eventually("frame 30") { isFrame(30, reel.frame(30)) }
        for _ in 0..<2 {
            reel.rewind()
            for number in 0..<Int64(12) { #expect(isFrame(number, reel.frame(number)), "frame \(number)") }
            for number in 12..<Int64(40) {
                try eventually("frame \(number)") { isFrame(number, reel.frame(number)) }
            }
        }
    }

    @Test("In a rendered program a stinger provides exactly the requested frames, however fast the requests come")
    func awaited() throws {
        let directory = try TemporaryDirectory()
        let specification = try StingerSpecification("card=\(try make(in: directory))#cut=1")
        let format = VideoFormat(width: 64, height: 36, frameRate: FrameRate(25))
        let reel = try StingerReel(specification, format: format, isAwaited: true, logger: Logger(label: "test"))
        defer { reel.stop() }
        for _ in 0..<2 {
            for number in 0..<Int64(50) { #expect(isFrame(number, reel.frame(number)), "frame \(number)") }
            #expect(isFrame(49, reel.frame(50)))
            reel.rewind()
        }
        // Skipped frames are not waited for twice.
        #expect(isFrame(40, reel.frame(40)))
    }
}
