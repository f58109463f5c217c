// SPDX-License-Identifier: Apache-2.0

import Foundation
import Media
import TestSupport
import Testing

/// A video file of two seconds, 25 frames a second and 64x36 pixels, in which gray becomes brighter with each frame. It
/// has no audio.
enum GrayVideo {
    static let format = VideoFormat(width: 64, height: 36, frameRate: FrameRate(25))

    /// Makes the file, and returns its path.
    static func make(in directory: TemporaryDirectory) throws -> String {
        let source = "color=black:size=64x36:rate=25:duration=2,format=rgba,geq=r=5*N:g=5*N:b=5*N:a=255"
        return try ffmpeg(["-f", "lavfi", "-i", source, "-c:v", "qtrle"], "card.mov", in: directory)
    }

    /// Makes the file `name` with FFmpeg, and returns its path.
    static func ffmpeg(_ arguments: [String], _ name: String, in directory: TemporaryDirectory) throws -> String {
        let path = directory.path(name)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["ffmpeg", "-v", "error", "-nostdin"] + arguments + [path]
        try process.run()
        process.waitUntilExit()
        try #require(process.terminationStatus == 0)
        return path
    }

    /// Whether `frame` is the frame of this number.
    static func isFrame(_ number: Int64, _ frame: VideoFrame?) -> Bool {
        guard let frame else { return false }
        let luma = frame.storage.withPlanes { Double($0.y.bytes.load(as: UInt8.self)) }
        return abs(luma - (16 + 219 * Double(5 * number) / 255)) <= 2
    }
}
