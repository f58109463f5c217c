// SPDX-License-Identifier: Apache-2.0

import Foundation
import Ingest
import Logging
import Media
import Testing

/// A file that was made with the ffmpeg program; it is deleted with the object.
final class Clip {
    let path: String

    /// Runs ffmpeg with `arguments` and an output path that ends in `suffix`.
    init(_ arguments: String..., suffix: String) throws {
        path = NSTemporaryDirectory() + "relay-clip-\(UUID().uuidString)\(suffix)"
        try Self.run("ffmpeg", ["-v", "error", "-nostdin", "-y"] + arguments + [path])
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// Truncates the file to `fraction` of its bytes.
    func truncate(to fraction: Double) throws {
        let data = try Data(contentsOf: URL(fileURLWithPath: path))
        try data.prefix(Int(Double(data.count) * fraction)).write(to: URL(fileURLWithPath: path))
    }

    static func run(_ program: String, _ arguments: [String]) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [program] + arguments
        try process.run()
        process.waitUntilExit()
        try #require(process.terminationStatus == 0, "\(program) \(arguments)")
    }

    /// Opens the file, plays it into `sink` to its end, and returns the stopped source.
    @discardableResult
    func play(
        into sink: CollectingSink, loop: Bool = false, from start: Duration = .zero, video: VideoFormat? = nil,
        wantsVideo: Bool = true
    ) throws -> any MediaSource {
        var options = IngestOptions(loop: loop)
        options.start = start
        let source = try SourceOpener.open(InputLocation(path), options: options, logger: Logger(label: "test"))
        source.start(
            into: sink, video: wantsVideo ? video ?? source.description.video : nil, audio: .program)
        #expect(sink.waitUntilDone())
        source.stop()
        return source
    }
}

/// The first position at which audio is louder than `threshold`.
func onset(_ audio: [Float], threshold: Float = 0.1) -> Int? { audio.firstIndex { abs($0) > threshold } }

/// A tone from 0.5 s to 1 s, as a lavfi source.
let burst = "aevalsrc='if(gte(t,0.5)*lt(t,1),0.8*sin(2*PI*1000*t),0)':s=48000:d=2"
