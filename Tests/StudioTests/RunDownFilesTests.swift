// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@testable import Studio

/// Two directories of shows, and a directory of other files. Run-downs are confined to the first one. The content of
/// its files begins with `i`, and the content of all other files with `o`.
@Suite("The files that a run-down may name")
struct RunDownFilesTests {
    private let temporary: TemporaryDirectory
    private var shows: String { temporary.path("shows") }

    init() throws {
        temporary = try TemporaryDirectory()
        for name in ["shows/part", "shows/folder.mp4", "others", "shows-too"] {
            try FileManager.default.createDirectory(atPath: temporary.path(name), withIntermediateDirectories: true)
        }
        for name in ["shows/inner.mp4", "shows/part/inner.mp4"] { try temporary.write("inner".utf8, to: name) }
        for name in ["others/outer.mp4", "shows-too/outer.mp4", "shows-too/inner.mp4"] {
            try temporary.write("outer".utf8, to: name)
        }
        let links = [
            ("shows/alias.mp4", "part/inner.mp4"), ("shows/leak.mp4", "../others/outer.mp4"),
            ("shows/out", "../others"), ("shows/part/up", ".."), ("shows/up", "/"),
            ("shows/loop.mp4", "loop.mp4"), ("shows/gone.mp4", "ghost.mp4"),
            ("others/back", "../shows"), ("others/alias.mp4", "back/inner.mp4"),
        ]
        for (name, target) in links { try #require(symlink(target, temporary.path(name)) == 0) }
    }

    /// The first byte of the file at `path`; nil if the file cannot be read.
    private func byte(at path: String) -> UInt8? {
        guard let file = fopen(path, "r") else { return nil }
        defer { fclose(file) }
        return UInt8(exactly: fgetc(file))
    }

    /// A random path from the first directory, the root or the parent directory, up and down and through links.
    private func anyPath(_ random: inout SeededRandom) -> String {
        let starts = ["", "", "", "", "", "/", temporary.path + "/", shows + "/", shows + "-too/"]
        let steps = [".", "..", "..", "", "part", "part", "up", "out", "back", "shows", "others", "shows-too", "ghost"]
        let ends = ["inner", "inner", "outer", "alias", "leak", "loop", "folder", "gone", "ghost"]
        var parts: [String] = []
        for _ in 0..<Int.random(in: 0...6, using: &random) { parts.append(steps.randomElement(using: &random) ?? ".") }
        parts.append((ends.randomElement(using: &random) ?? "inner") + ".mp4")
        return (starts.randomElement(using: &random) ?? "") + parts.joined(separator: "/")
    }

    /// The absolute path of `path`, without resolving anything.
    private func place(_ path: String) -> String { path.hasPrefix("/") ? path : "\(shows)/\(path)" }

    @Test("A run-down that is limited to its directory can use exactly the files in it, by any path")
    func confined() throws {
        var random = SeededRandom()
        let files = RunDownFiles(directory: shows, isConfined: true)
        let root = String(try files.resolve("inner.mp4").dropLast("inner.mp4".count))
        let inside = UInt8(ascii: "i")
        var (taken, outside) = (0, 0)
        for _ in 0..<5000 {
            let path = anyPath(&random)
            let there = byte(at: place(path))
            do throws(RunDownFiles.Fault) {
                let real = try files.resolve(path)
                taken += 1
                #expect(there == inside && byte(at: real) == inside, "\(path)")
                #expect(real.hasPrefix(root) && !real.split(separator: "/").contains(".."), "\(path) \(real)")
            } catch {
                outside += there == nil ? 0 : 1
                #expect(there != inside, "\(path): \(error)")
                // An error must not name files outside the directory either.
                #expect(!error.description.replacing(path, with: "").contains("outer"), "\(path): \(error)")
            }
        }
        #expect(taken > 10 && outside > 10)
    }

    @Test("A run-down that is not limited to a directory can use exactly the files that exist")
    func free() throws {
        var random = SeededRandom()
        let files = RunDownFiles(directory: shows)
        for _ in 0..<3000 {
            let path = anyPath(&random)
            let there = byte(at: place(path))
            do throws(RunDownFiles.Fault) {
                let real = try files.resolve(path)
                #expect(there != nil && byte(at: real) == there, "\(path)")
            } catch {
                #expect(there == nil, "\(path): \(error)")
            }
        }
    }

    @Test("A run-down file is refused if it is a pipe, a directory or a link loop, or has a zero byte in its name")
    func odd() throws {
        try #require(mkfifo(temporary.path("shows/pipe.mp4"), 0o600) == 0)
        let deep = String(repeating: "part/up/", count: 3000) + "inner.mp4"
        let long = String(repeating: "x", count: 300) + ".mp4"
        let names = [
            "", ".", "..", "/", "part", "folder.mp4", "pipe.mp4", "loop.mp4", "gone.mp4", "inner.mp4\0", "\0", deep,
            long, "inner.mp4\0/../../others/outer.mp4", "inner.mp4/../inner.mp4", "\n", "~/inner.mp4",
            "file://\(shows)/inner.mp4",
        ]
        for isConfined in [false, true] {
            let files = RunDownFiles(directory: shows, isConfined: isConfined)
            for name in names {
                #expect(throws: RunDownFiles.Fault.self, "\(name.prefix(40))") { try files.resolve(name) }
            }
        }
        // A directory that is missing, or is a link, gives no access either.
        let missing = RunDownFiles(directory: temporary.path("none"), isConfined: true)
        for name in ["inner.mp4", "../shows/inner.mp4", shows + "/inner.mp4"] {
            #expect(throws: RunDownFiles.Fault.self, "\(name)") { try missing.resolve(name) }
        }
        let linked = RunDownFiles(directory: temporary.path("others/back"), isConfined: true)
        let real = try linked.resolve("inner.mp4")
        #expect(byte(at: real) == UInt8(ascii: "i"))
        #expect(throws: RunDownFiles.Fault.self) { try linked.resolve("../others/outer.mp4") }
    }

    @Test("The error for a missing file lists the first five videos of its directory, and no other files")
    func names() throws {
        var random = SeededRandom()
        for _ in 0..<40 {
            let directory = try TemporaryDirectory()
            var videos: [String] = []
            for number in 0..<Int.random(in: 0...14, using: &random) {
                let ending = ["mp4", "MOV", "mkv", "txt", "jpg", "mp4.part"].randomElement(using: &random) ?? "mp4"
                let prefix = ["", "", "B ", "\u{E9}", ".", "a\n"].randomElement(using: &random) ?? ""
                let name = "\(prefix)clip\(number).\(ending)"
                let file = try #require(fopen(directory.path(name), "w"))
                fclose(file)
                let isVideo = ["mp4", "MOV", "mkv"].contains(ending) && ![".", "a\n"].contains(prefix)
                if isVideo { videos.append(name) }
            }
            let told = videos.sorted().prefix(5).joined(separator: ", ")
            let more = videos.isEmpty ? "" : " There are \(told)\(videos.count > 5 ? " and others" : "")."
            let fault = RunDownFiles.Fault(description: "There is no file ghost.mp4 that can be read.\(more)")
            for isConfined in [false, true] {
                let files = RunDownFiles(directory: directory.path, isConfined: isConfined)
                #expect(throws: fault) { try files.resolve("ghost.mp4") }
            }
        }
    }
}
