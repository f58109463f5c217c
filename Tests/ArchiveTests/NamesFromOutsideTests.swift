// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import TestSupport
import Testing

@testable import Archive

/// Names that clients request, and names of files that anyone can put into a directory.
@Suite struct NamesFromOutsideTests {
    private let temporary: TemporaryDirectory
    private let directory: RecordDirectory

    init() throws {
        temporary = try TemporaryDirectory()
        let manager = FileManager.default
        for path in ["in/d", "in/.h", "out/d"] {
            try manager.createDirectory(atPath: temporary.path(path), withIntermediateDirectories: true)
        }
        directory = try .existing(temporary.path("in"))
        for name in ["in/a.mp4", "in/d/a.mp4", "in/d/\u{301}a.mp4"] { try temporary.write([1], to: name) }
        for name in ["out/a.mp4", "out/d/a.mp4", "out/\u{301}a.mp4", "a.mp4", "in/.h/a.mp4", "in/.a.mp4"] {
            try temporary.write([9], to: name)
        }
        try manager.createSymbolicLink(
            atPath: temporary.path("in/link"), withDestinationPath: temporary.path("out"))
        try manager.createSymbolicLink(
            atPath: temporary.path("in/link.mp4"), withDestinationPath: temporary.path("out/a.mp4"))
        try #require(mkfifo(temporary.path("in/pipe.mp4"), 0o644) == 0)
    }

    @Test func `A file in the record directory is opened by its relative path`() throws {
        for name in ["a.mp4", "d/a.mp4", "d/\u{301}a.mp4"] {
            #expect(try directory.open(recording: name).read(at: 0, count: 9) == [1], "\(name)")
        }
    }

    // Regression: a slash before a combining mark was taken for a part of a name, so the system followed the link in
    // front of the slash.
    @Test(arguments: [
        "link/a.mp4", "link.mp4", "link/\u{301}a.mp4", "link/d/a.mp4", "../a.mp4", "d/../a.mp4", "/etc/passwd", "",
        ".h/a.mp4", ".a.mp4", "d//a.mp4", "d/", "d", "a.mp4\u{0}", "pipe.mp4", "d/./a.mp4", ".", "..", "none.mp4",
    ])
    func `A link, a hidden name, a path out of the record directory and a name without a file are refused`(name: String)
    {
        #expect(throws: FileFailure.self) { try directory.open(recording: name) }
    }

    @Test func `No random path opens a file that is hidden or outside of the record directory`() {
        var random = SeededRandom()
        let pieces = ["..", ".", "/", "link", "a.mp4", "d", "\u{301}", "//", "\u{0}", ".h", "out", "in", "\u{FE0F}"]
        var opened = 0
        for _ in 0..<3000 {
            let name = random.text(of: pieces, upTo: 7)
            guard let file = try? directory.open(recording: name) else { continue }
            opened += 1
            #expect((try? file.read(at: 0, count: 9)) == [1], "\(name.debugDescription)")
        }
        #expect(opened > 0)
    }

    @Test func `A path is split at every slash, as the operating system does it`() {
        #expect(FileDescriptor.parts(of: "a/b/c.mp4") == ["a", "b", "c.mp4"])
        #expect(FileDescriptor.parts(of: "/a//b/") == ["", "a", "", "b", ""])
        #expect(FileDescriptor.parts(of: "") == [""])
        #expect(FileDescriptor.parts(of: "a/\u{301}b") == ["a", "\u{301}b"])
    }

    @Test func `Any channel name is converted to a safe file name, and a safe name stays unchanged`() {
        var random = SeededRandom()
        let allowed = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_".utf8)
        let pieces = [
            "a", "Z", "0", "_", "-", ".", "..", "/", " ", "é", "\u{301}", "\u{1F3A5}", "\u{0}", "\n", "%", "\\",
        ]
        for _ in 0..<3000 {
            let channel = random.text(of: pieces, upTo: 130)
            let safe = SegmentName.safe(channel)
            #expect(!safe.isEmpty && safe.utf8.count <= 100 && safe.utf8.first != UInt8(ascii: "."))
            #expect(allowed.isSuperset(of: safe.utf8))
            #expect(SegmentName.safe(safe) == safe)
            let name = SegmentName(
                channel: channel, start: UTCTime(milliseconds: .random(in: 0..<4_102_444_800_000, using: &random)),
                sequence: .random(in: 1...999_999_999_999, using: &random), format: random.pick(RecordFormat.allCases))
            #expect(name.channel == safe)
            for path in [name.closed, name.open, "2026/11/" + name.closed] {
                let read = SegmentName(fileName: path)
                #expect(read?.channel == safe && read?.start == name.start && read?.sequence == name.sequence)
                #expect(read?.closed == RecordDirectory.closedName(of: path))
            }
        }
    }

    @Test func `A damaged file name is refused, or parsed as a valid name with a channel, a start time and a number`() {
        var random = SeededRandom()
        let name = Array("a_b_20261121T140310.123Z_000041.mp4.part")
        for _ in 0..<5000 {
            var damaged = name
            for _ in 0..<Int.random(in: 1...3, using: &random) where !damaged.isEmpty {
                let place = Int.random(in: damaged.indices, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: damaged.remove(at: place)
                case 1: damaged[place] = random.pick(["0", "_", "x", ".", "/", "Z", "é", "\u{661}"])
                default: damaged.insert(random.pick(["0", "_", "x", ".", "/", "T", "é", "9"]), at: place)
                }
            }
            let text = String(damaged)
            guard let read = SegmentName(fileName: text) else { continue }
            #expect(read.closed == RecordDirectory.closedName(of: text))
            #expect(!read.channel.isEmpty && read.sequence >= 0 && read.start.count == "20261121T140310.123Z".count)
            #expect(read.start.utf8.count == read.start.count, "digits of other scripts are none: \(text)")
        }
    }

    @Test func `A repaired copy is named after its original file`() {
        for name in ["a.mp4", "d/a.mp4", "a.repaired.mp4"] {
            #expect(SegmentSalvage.originalName(SegmentSalvage.repairedName(name)) == name)
        }
        #expect(SegmentSalvage.repairedName("a.mp4.part") == "a.repaired.mp4")
        #expect(SegmentSalvage.repairedName("a.broken") == "a.repaired.mp4")
        #expect(SegmentSalvage.originalName("a.mp4") == "a.mp4")
    }

    @Test func `A recording counts once, even if it also has a repaired copy`() {
        var random = SeededRandom()
        for _ in 0..<500 {
            let stems = (0..<Int.random(in: 0...6, using: &random)).map { "f\($0)" }
            var names: [String] = []
            var expected: Set<String> = []
            var whole: Set<String> = []
            for stem in stems {
                let (file, copy) = ("\(stem).mp4", "\(stem).repaired.mp4")
                let (hasFile, hasCopy, isWhole) = (
                    Bool.random(using: &random), Bool.random(using: &random), Bool.random(using: &random)
                )
                if hasFile { names.append(file) }
                if hasCopy { names.append(copy) }
                if isWhole { whole.insert(file) }
                switch (hasFile, hasCopy) {
                case (true, true): expected.insert(isWhole ? file : copy)
                case (true, false): expected.insert(file)
                case (false, true): expected.insert(copy)
                case (false, false): break
                }
            }
            names.shuffle(using: &random)
            #expect(SegmentSalvage.counted(names, isWhole: whole.contains) == expected)
        }
    }
}
