// SPDX-License-Identifier: Apache-2.0

import Foundation
import RecordingSamples
import TestSupport
import Testing

@testable import Archive
@testable import MP4

/// Recordings in directories that are named after their time, by a template that the record directory has not stored.
@Suite struct DatedDirectoryTests {
    private let temporary: TemporaryDirectory
    private let directory: RecordDirectory

    init() throws {
        temporary = try TemporaryDirectory()
        directory = try .prepare(temporary.path)
    }

    /// Makes a recording that began at `start` in the directory `parent`, and returns its name.
    private func place(in parent: String, start: String) throws -> String {
        var bytes = SampleRecording(seconds: 1).closed
        for place in BoxReader.positions(of: Array(SampleRecording.start.extended.utf8), in: bytes) {
            bytes.replaceSubrange(place..<place + start.utf8.count, with: Array(start.utf8))
        }
        let time = try #require(UTCTime(extended: start))
        let name = "\(parent)/test_\(time.basic)_000001.mp4"
        try FileManager.default.createDirectory(
            atPath: temporary.path(parent), withIntermediateDirectories: true)
        try temporary.write(bytes, to: name)
        return name
    }

    @Test(arguments: [
        "2026/11/21", "2026-11-21", "21.11.2026", "20261121", "26-325", "2026_11/21-14", "20261121T140310.123Z",
        "test/2026", "14/03", "20261122", "2026-11-21T14",
    ])
    func `A recording is found in a directory named after its own date or time, in any time zone`(parent: String)
        throws
    {
        let name = try place(in: parent, start: "2026-11-21T14:03:10.123Z")
        #expect(try directory.otherSegments(of: "test") == [name])
        #expect(try directory.otherSegments(of: "other").isEmpty)
    }

    @Test(arguments: ["2025/11/21", "2026-45-21", "20261124", "1", "12345", "2026112", "99/99"])
    func `A recording in a directory with numbers that are not its own date or time is not listed`(parent: String)
        throws
    {
        _ = try place(in: parent, start: "2026-11-21T14:03:10.123Z")
        #expect(try directory.otherSegments(of: "test").isEmpty)
    }

    // Regression: all ways to divide the digits were tried. For a single file that was recorded on 11 November 2011 at
    // 11:11:11, there were 6 to the power of 100 ways, so the call never returned.
    @Test func `A date is searched quickly in a directory name of hundreds of digits`() throws {
        let start = "2011-11-11T11:11:11.111Z"
        _ = try place(in: String(repeating: "1", count: 200) + "2", start: start)
        #expect(try directory.otherSegments(of: "test").isEmpty)
        let name = try place(in: String(repeating: "1", count: 200), start: start)
        #expect(try directory.otherSegments(of: "test") == [name])
    }
}
