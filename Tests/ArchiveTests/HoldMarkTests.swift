// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import RecordingSamples
import TestSupport
import Testing

@testable import Archive

@Suite struct HoldMarkTests {
    private let temporary: TemporaryDirectory
    private let directory: RecordDirectory

    init() throws {
        temporary = try TemporaryDirectory()
        directory = try .prepare(temporary.path)
    }

    /// Names of recordings whose marks could be confused with each other.
    private static let names = [
        "a.mp4", "a/b.mp4", "a%2Fb.mp4", "a%252Fb.mp4", "a%b.mp4", "%25", "%", "%2F", "100%/é ü.mp4", "a b/c d/e.ts",
        "-", "a/b/c/d/e.mp4", "a%2fb.mp4", "%252F", "%%", "a..mp4",
    ]

    @Test func `After any sequence of holds and releases exactly the held recordings have mark files`() throws {
        var random = SeededRandom()
        var held: Set<String> = []
        for _ in 0..<200 {
            let name = random.pick(Self.names)
            if Bool.random(using: &random) {
                try HoldMark.set(of: name, in: directory)
                held.insert(name)
            } else {
                try HoldMark.remove(of: name, in: directory)
                held.remove(name)
            }
            #expect(HoldMark.isSet(of: name, in: directory) == held.contains(name))
        }
        #expect(try HoldMark.names(in: directory) == held)
        for name in Self.names { #expect(HoldMark.isSet(of: name, in: directory) == held.contains(name), "\(name)") }
        #expect(temporary.files.isEmpty, "marks are hidden files")
    }

    @Test
    func `If a directory or a link is in place of a recording's hold mark, the recording counts as held`() throws {
        try FileManager.default.createDirectory(
            atPath: temporary.path(".relay-hold-a.mp4"), withIntermediateDirectories: false)
        try FileManager.default.createSymbolicLink(
            atPath: temporary.path(".relay-hold-b.mp4"), withDestinationPath: "/nowhere")
        #expect(HoldMark.isSet(of: "a.mp4", in: directory) && HoldMark.isSet(of: "b.mp4", in: directory))
        #expect(try HoldMark.names(in: directory) == ["a.mp4", "b.mp4"])
        try HoldMark.set(of: "a.mp4", in: directory)
        try HoldMark.set(of: "b.mp4", in: directory)
        try HoldMark.remove(of: "b.mp4", in: directory)
        #expect(!HoldMark.isSet(of: "b.mp4", in: directory))
        #expect(throws: FileFailure.self) { try HoldMark.remove(of: "a.mp4", in: directory) }
    }

    // Regression: if the mark's name was too long for the file system, the recording counted as held. Recordings with
    // such names were then never deleted, and the disk became full.
    @Test
    func `A recording whose hold mark would have too long a file name cannot be held, but can be deleted`() throws {
        let channel = String(repeating: "c", count: 100)
        let template = try NameTemplate(parsing: String(repeating: "a", count: 150) + "/{channel}/{sequence}")
        let directory = try RecordDirectory.prepare(temporary.path, template: template)
        let name = SegmentName(channel: channel, start: SampleRecording.start, sequence: 1, template: template)
        try directory.makeParents(of: name)
        try temporary.write(SampleRecording(seconds: 1, channel: channel).closed, to: name.closed)
        #expect(!HoldMark.isSet(of: name.closed, in: directory))
        let failure = #expect(throws: FileFailure.self) { try HoldMark.set(of: name.closed, in: directory) }
        #expect(failure?.code == ENAMETOOLONG, "holding it is refused, not forgotten")
        try HoldMark.remove(of: name.closed, in: directory)
        #expect(try directory.delete(recording: name.closed, of: channel))
    }
}
