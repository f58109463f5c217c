// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import TestSupport
import Testing

@testable import Archive

/// The small files in which relay stores its memory. A crash, a full disk or another program can leave any content in
/// them.
@Suite struct HiddenFilesTests {
    private let temporary: TemporaryDirectory

    init() throws { temporary = try TemporaryDirectory() }

    // MARK: What retention remembers about the clock

    private func anyClock(_ random: inout SeededRandom) -> RememberedClock {
        let lead = { (random: inout SeededRandom) in
            RememberedClock.Lead(
                length: .random(in: 0 ... .max, using: &random), left: .random(in: 0...100_000, using: &random))
        }
        return RememberedClock(
            lastSeen: UTCTime(milliseconds: .random(in: 0..<9_000_000_000_000, using: &random)),
            isConfirmed: Bool.random(using: &random), least: lead(&random), greatest: lead(&random),
            lag: lead(&random))
    }

    @Test
    func `The clock state's text is parsed back unchanged, and always has the same length`() {
        var random = SeededRandom()
        for _ in 0..<1000 {
            let clock = anyClock(&random)
            #expect(RememberedClock(text: clock.text) == clock)
            #expect(clock.text.utf8.count == 256)
        }
    }

    // Regression: at each start, the distance from such a time to the present one ended the process.
    @Test(arguments: [Int64.min, -1, 9_000_000_000_000, .max])
    func `A clock file with a time that no clock shows is ignored`(time: Int64) {
        let clock = RememberedClock(lastSeen: UTCTime(milliseconds: time), isConfirmed: true)
        #expect(RememberedClock(text: clock.text) == nil)
    }

    @Test func `After a crash during a write the clock file yields the old state, the new state or none`() {
        var random = SeededRandom()
        for _ in 0..<20 {
            let (old, new) = (anyClock(&random), anyClock(&random))
            let (before, after) = (Array(old.text.utf8), Array(new.text.utf8))
            for cut in 0...before.count {
                let torn = String(decoding: after[..<cut] + before[cut...], as: UTF8.self)
                let read = RememberedClock(text: torn)
                #expect(read == nil || read == old || read == new, "\(cut)")
            }
        }
    }

    @Test func `A file with the clock state is ignored if one digit was changed or its format is unknown`() {
        var random = SeededRandom()
        for _ in 0..<20 {
            let text = Array(anyClock(&random).text.utf8)
            for place in text.indices where (48...57).contains(text[place]) {
                var changed = text
                changed[place] = 48 + (text[place] - 48 + UInt8.random(in: 1...9, using: &random)) % 10
                #expect(RememberedClock(text: String(decoding: changed, as: UTF8.self)) == nil)
            }
        }
        for text in ["", " ", "relay-clock-1", "relay-clock-1 0 0 0 0 0 0 0 0 0", "relay-clock-2 1 1 1 1 1 1 1 1 1"] {
            #expect(RememberedClock(text: text) == nil)
        }
    }

    @Test
    func `A damaged clock file is ignored, and relay does not write to a link or directory in its place`() throws {
        var random = SeededRandom()
        let directory = try RecordDirectory.prepare(temporary.path)
        let clock = anyClock(&random)
        #expect(RememberedClock.read(of: "c", in: directory) == nil)
        try clock.write(of: "c", in: directory)
        #expect(RememberedClock.read(of: "c", in: directory) == clock)
        let text = Array(clock.text.utf8)
        for damaged in [Array(text.dropLast()), text + [32], [], [UInt8](repeating: 0, count: 256), random.bytes(256)] {
            try temporary.write(damaged, to: ".relay-clock-c")
            #expect(RememberedClock.read(of: "c", in: directory) == nil)
        }
        try temporary.write(Array("outside".utf8), to: "outside")
        try FileManager.default.createSymbolicLink(
            atPath: temporary.path(".relay-clock-d"), withDestinationPath: temporary.path("outside"))
        #expect(RememberedClock.read(of: "d", in: directory) == nil)
        #expect(throws: FileFailure.self) { try clock.write(of: "d", in: directory) }
        #expect(try temporary.bytes("outside") == Array("outside".utf8))
        try FileManager.default.createDirectory(
            atPath: temporary.path(".relay-clock-e"), withIntermediateDirectories: false)
        #expect(RememberedClock.read(of: "e", in: directory) == nil)
        #expect(throws: FileFailure.self) { try clock.write(of: "e", in: directory) }
    }

    // MARK: The memory of mounted disks

    @Test func `After any sequence of changes the mount point stored last for each record directory is returned`() {
        var random = SeededRandom()
        let memory = MountMemory(directory: temporary.path("deep/mounts"))
        let current = FileManager.default.currentDirectoryPath
        let paths = [
            "/srv/a", "/srv/a/", "/srv/a/b", "/srv/a%2Fb", "/srv/a%252Fb", "/srv/%", "/", "relative", "/srv/x y", "/é",
            "/srv/a\nb",
        ]
        var model: [String: MountMemory.Entry] = [:]
        let key = { (path: String) -> String in
            let trimmed = path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
            return trimmed.hasPrefix("/") ? trimmed : "\(current)/\(trimmed)"
        }
        for step in 0..<300 {
            let path = random.pick(paths)
            if Int.random(in: 0..<4, using: &random) == 0 {
                memory.forget(path)
                model[key(path)] = nil
            } else {
                let entry = MountMemory.Entry(
                    mountPoint: random.pick(["/mnt", "/mnt/x y", "/media/é"]), mark: ".relay-archive-\(step % 7)")
                memory.remember(path, entry)
                model[key(path)] = entry
            }
            #expect(memory.recall(path) == model[key(path)], "\(path)")
        }
        for path in paths { #expect(memory.recall(path) == model[key(path)], "\(path)") }
        #expect(temporary.files == ["deep"])
    }

    @Test func `If the file with a stored mount point is damaged, it is ignored and can be overwritten`() throws {
        let memory = MountMemory(directory: temporary.path)
        let entry = MountMemory.Entry(mountPoint: "/mnt", mark: ".relay-archive-1")
        for text in [
            "", "\n", "/mnt", "/mnt\n", "/mnt\nmark\nmore\n", "mnt\nmark\n", "\u{0}\u{0}\u{0}",
            String(repeating: "/a", count: 5000) + "\nmark\n",
        ] {
            try temporary.write(Array(text.utf8), to: "%2Fsrv%2Fa")
            #expect(memory.recall("/srv/a") == nil, "\(text.prefix(20))")
            memory.remember("/srv/a", entry)
            #expect(memory.recall("/srv/a") == entry)
        }
        try temporary.write([0xFF, 0xFE, 10, 0xFF, 10], to: "%2Fsrv%2Fa")
        #expect(memory.recall("/srv/a") == nil)
        #expect(temporary.files == ["%2Fsrv%2Fa"], "nothing is left behind")
    }

    @Test func `If a mount point cannot be stored, none is returned later, and no error is thrown`() throws {
        try temporary.write([1], to: "file")
        for memory in [MountMemory(), MountMemory(directory: temporary.path("file/below"))] {
            memory.remember("/srv/a", MountMemory.Entry(mountPoint: "/mnt", mark: "m"))
            #expect(memory.recall("/srv/a") == nil)
            memory.forget("/srv/a")
            try memory.checkMount(of: "/srv/a", .remembered)
        }
        // The system accepts no name of more than 255 bytes.
        let memory = MountMemory(directory: temporary.path)
        let long = "/srv/" + String(repeating: "a", count: 250)
        memory.remember(long, MountMemory.Entry(mountPoint: "/mnt", mark: "m"))
        #expect(memory.recall(long) == nil)
        // A mount point with a line break in its name is not stored, because the entry could not be read again.
        memory.remember("/srv/b", MountMemory.Entry(mountPoint: "/mnt\nx", mark: "m"))
        #expect(memory.recall("/srv/b") == nil)
        #expect(temporary.files == ["file"])
    }

    @Test
    func `A record directory is refused while its known disk is not mounted, unless the mount check is off`() throws {
        let memory = MountMemory(directory: temporary.path("mounts"))
        let record = temporary.path("record")
        try memory.checkMount(of: record, .remembered)
        memory.remember(record, MountMemory.Entry(mountPoint: temporary.path, mark: ".relay-archive-1"))
        for rule in [MountRule.remembered, .required] {
            let failure = #expect(throws: FileFailure.self) { try memory.checkMount(of: record, rule) }
            #expect(failure?.description.contains("its disk is not mounted at \(temporary.path)") == true)
        }
        try memory.checkMount(of: record, .ignored)
        memory.remember(record, MountMemory.Entry(mountPoint: "/", mark: ".relay-archive-1"))
        try memory.checkMount(of: record, .remembered)
        memory.forget(record)
        try memory.checkMount(of: record, .remembered)
    }

    // MARK: Stored templates

    @Test func `The valid name templates in a damaged list of templates are still read`() throws {
        let good = try NameTemplate(parsing: "{date}/{channel}-{sequence}")
        let lines = ["", "{nothing}", "../{sequence}", "{date}/{channel}-{sequence}", "\u{0}", "%", "{channel}"]
        try temporary.write(Array(lines.joined(separator: "\n").utf8) + [0xFF, 10], to: ".relay-names")
        #expect(try RecordDirectory.existing(temporary.path).templates.contains(good))
        #expect(RecordDirectory.notedTemplates(in: temporary.path) == [good])
        // If there are more than 64 templates, the newest ones are read.
        let many = (0..<100).map { "\($0)x{sequence}\n" }.joined()
        try temporary.write(Array(many.utf8), to: ".relay-names")
        let noted = RecordDirectory.notedTemplates(in: temporary.path)
        let newest = try NameTemplate(parsing: "99x{sequence}")
        #expect(noted.count == 64 && noted.last == newest)
        try FileManager.default.removeItem(atPath: temporary.path(".relay-names"))
        try temporary.write(Array(many.utf8), to: "outside")
        try FileManager.default.createSymbolicLink(
            atPath: temporary.path(".relay-names"), withDestinationPath: temporary.path("outside"))
        #expect(RecordDirectory.notedTemplates(in: temporary.path).isEmpty)
        _ = try RecordDirectory.prepare(temporary.path, template: good)
        #expect(try temporary.bytes("outside") == Array(many.utf8), "a link is not written through")
    }

    @Test func `A record directory stores each name template once, and does not store the default template`() throws {
        let template = try NameTemplate(parsing: "{date}/{sequence}")
        for _ in 0..<3 { _ = try RecordDirectory.prepare(temporary.path, template: template) }
        _ = try RecordDirectory.prepare(temporary.path)
        #expect(RecordDirectory.notedTemplates(in: temporary.path) == [template])
        #expect(String(decoding: try temporary.bytes(".relay-names"), as: UTF8.self).split(separator: "\n").count == 1)
    }
}
