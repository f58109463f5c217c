// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import TestSupport
import Testing

@testable import Archive

/// An inventory of a channel's files that is updated in steps, and how much each step reads.
@Suite struct SegmentInventoryTests {
    private let temporary: TemporaryDirectory
    private let directory: RecordDirectory

    init() throws {
        temporary = try TemporaryDirectory()
        directory = try .prepare(temporary.path)
    }

    private func name(_ number: Int) -> SegmentName {
        SegmentName(channel: "test", start: UTCTime(milliseconds: 1_795_269_790_000), sequence: number)
    }

    /// Makes a file of `bytes` bytes.
    private func make(_ name: String, bytes: Int = 0) throws {
        let file = open(temporary.path(name), O_CREAT | O_WRONLY, 0o644)
        try #require(file >= 0)
        defer { close(file) }
        try #require(ftruncate(file, bytes) == 0)
    }

    @Test(arguments: [10, 1000, 50_000])
    func `An update of the inventory reads a bounded number of files, however many the directory contains`(files: Int)
        throws
    {
        for number in 1...files { try make(name(number).closed) }
        var inventory = try SegmentInventory(of: "test", in: directory)
        #expect(inventory.segments.count == files)
        for number in files + 1...files + 3 {
            try make(name(number).closed)
            let before = inventory.work
            try inventory.update([name(number).closed])
            let read = inventory.work
            let most = SegmentInventory.mostFiles + SegmentInventory.mostEntries + 2
            #expect(read.files - before.files <= most)
            #expect(read.entries - before.entries <= SegmentInventory.mostEntries)
            #expect(inventory.segments.count == number)
            #expect(inventory.segments.last?.fileName == name(number).closed)
        }
    }

    @Test func `When a file is closed, the next update of the inventory lists it as closed instead of open`() throws {
        for number in 1...2000 { try make(name(number).closed) }
        var inventory = try SegmentInventory(of: "test", in: directory)
        try make(name(2001).open, bytes: 100)
        try inventory.update([name(2001).open])
        #expect(inventory.segments.last?.isFinished == false)
        // An open file grows.
        try make(name(2001).open, bytes: 200)
        try inventory.update([])
        #expect(inventory.segments.last?.bytes == 200)
        try #require(rename(temporary.path(name(2001).open), temporary.path(name(2001).closed)) == 0)
        try inventory.update([name(2001).closed])
        #expect(inventory.segments.count == 2001 && inventory.segments.allSatisfy(\.isFinished))
    }

    @Test func `An update that finds one file deleted removes all deleted files from the inventory`() throws {
        for number in 1...3000 { try make(name(number).closed, bytes: 1) }
        var inventory = try SegmentInventory(of: "test", in: directory)
        for number in stride(from: 10, through: 3000, by: 10) {
            try #require(unlink(temporary.path(name(number).closed)) == 0)
        }
        try inventory.update([])
        #expect(inventory.segments.count == 2700)
        // If retention itself deleted a file, the other files need not be read.
        try #require(unlink(temporary.path(name(501).closed)) == 0)
        let before = inventory.work
        try inventory.update([name(501).closed])
        #expect(inventory.segments.count == 2699)
        let most = SegmentInventory.mostFiles + SegmentInventory.mostEntries + 2
        #expect(inventory.work.files - before.files <= most)
    }

    @Test
    func `Files that other programs add, change or delete are found within a few updates of the inventory`() throws {
        var random = SeededRandom()
        for day in ["", "day/", "day/night/", "other/"] {
            try FileManager.default.createDirectory(
                atPath: temporary.path(day), withIntermediateDirectories: true)
        }
        let template = try NameTemplate(parsing: "day/{channel}_{sequence}")
        let target = try RecordDirectory.prepare(temporary.path, template: template)
        var names = (1...1300).map { $0.isMultiple(of: 2) ? name($0).closed : "day/test_\($0 + 100_000).mp4" }
        for name in names { try make(name, bytes: 1) }
        // Files of another channel, files without a channel, and files of another record directory.
        let foreign = [
            "other_20261121T120000Z_000001.mp4", "day/notes.txt", "day/night/test_200000.mp4", "interview.mp4",
        ]
        for name in foreign { try make(name) }
        _ = try RecordDirectory.prepare(temporary.path("other"))
        try make("other/" + name(1).closed)
        var inventory = try SegmentInventory(of: "test", in: target)
        let listed = try target.segments(of: "test")
        #expect(inventory.segments == listed)
        for round in 0..<4 {
            for _ in 0..<40 {
                let place = Int.random(in: 0..<names.count, using: &random)
                let gone = names.remove(at: place)
                try #require(unlink(temporary.path(gone)) == 0)
                let changed = names[Int.random(in: 0..<names.count, using: &random)]
                try make(changed, bytes: Int.random(in: 2...99, using: &random))
            }
            for number in 0..<30 {
                names.append(name(5000 + 100 * round + number).closed)
                try make(names[names.count - 1], bytes: 1)
            }
            // The directories have about 1300 entries, of which each update reads 500. The previous round may be only
            // half finished.
            for _ in 0..<8 { try inventory.update([]) }
            let listed = try target.segments(of: "test")
            #expect(inventory.segments == listed)
        }
    }

    @Test func `The inventory is sorted by sequence number, or by modification time if a file has no number`() throws {
        let template = try NameTemplate(parsing: "{channel}_{time}")
        let target = try RecordDirectory.prepare(temporary.path, template: template)
        for number in 1...3 { try make(name(number).closed) }
        var inventory = try SegmentInventory(of: "test", in: target)
        let unnumbered = SegmentName(
            channel: "test", start: UTCTime(milliseconds: 1_795_269_790_000), sequence: 0, template: template
        ).closed
        try make(unnumbered)
        let old = [timespec(tv_sec: 1000, tv_nsec: 0), timespec(tv_sec: 1000, tv_nsec: 0)]
        try #require(utimensat(AT_FDCWD, temporary.path(name(3).closed), old, 0) == 0)
        try inventory.update([])
        #expect(inventory.segments.first?.fileName == name(3).closed)
        let listed = try target.segments(of: "test")
        #expect(inventory.segments == listed)
        inventory.remove(unnumbered)
        #expect(inventory.segments.map(\.sequence) == [1, 2, 3])
    }
}
