// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing

@testable import Archive

/// The list of open files in a directory, which is read again only after it has changed.
@Suite struct OpenNamesTests {
    private let temporary: TemporaryDirectory
    private let directory: RecordDirectory

    init() throws {
        temporary = try TemporaryDirectory()
        directory = try .prepare(temporary.path)
    }

    private func make(_ name: String) throws {
        let file = open(temporary.path(name), O_CREAT | O_WRONLY, 0o644)
        try #require(file >= 0)
        close(file)
    }

    /// Sets a directory's modification time, in seconds since 1970.
    private func settle(_ name: String = "", second: Int) throws {
        let time = [timespec(tv_sec: second, tv_nsec: 0), timespec(tv_sec: second, tv_nsec: 0)]
        try #require(utimensat(AT_FDCWD, temporary.path(name), time, 0) == 0)
    }

    /// The open files according to a list of the whole directory.
    private var listed: [String] {
        get throws { try directory.recordings().filter { $0.kind == .open }.map(\.name) }
    }

    @Test(arguments: [10, 1000, 50_000])
    func `To list open files a directory of any size is read again only if it changed, or changed recently`(files: Int)
        throws
    {
        for number in 1...files { try make("test_\(number).mp4") }
        try make("test_0.mp4.part")
        try settle(second: 1000)
        let names = OpenNames()
        for _ in 0..<5 {
            #expect(try names.names(in: directory) == ["test_0.mp4.part"])
            #expect(names.reads == 1)
        }
        try make("test_00.mp4.part")
        // If another change follows at once, the modification time may not show it. Such a directory is read again each
        // time.
        try settle(second: Int(UTCTime.now.milliseconds / 1000) + 3600)
        for reads in 2...3 {
            #expect(try names.names(in: directory) == ["test_0.mp4.part", "test_00.mp4.part"])
            #expect(names.reads == reads)
        }
        try settle(second: 2000)
        for _ in 0..<5 {
            #expect(try names.names(in: directory).count == 2)
            #expect(names.reads == 4)
        }
    }

    @Test func `After any changes the list of open files contains exactly the open files in the directory`() throws {
        var random = SeededRandom()
        let days = ["", "day/", "day/night/", "inner/"]
        for day in days.dropFirst() { try #require(mkdir(temporary.path(day), 0o755) == 0) }
        _ = try RecordDirectory.prepare(temporary.path("inner"))
        for day in days { try settle(day, second: 500) }
        let names = OpenNames()
        for step in 0..<200 {
            let day = random.pick(days)
            let name = "\(day)\(Int.random(in: 0..<5, using: &random)).mp4\(random.pick(["", ".part"]))"
            if Bool.random(using: &random) { try make(name) } else { unlink(temporary.path(name)) }
            // If the entries change, the directory gets a new modification time.
            try settle(day, second: 1000 + step)
            let expected = try listed
            #expect(try names.names(in: directory) == expected)
        }
        #expect(names.reads < 4 + 200 + 1)
    }
}
