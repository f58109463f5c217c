// SPDX-License-Identifier: Apache-2.0

import Foundation
import Media
import TestSupport
import Testing

@testable import Archive
@testable import Stitcher

@Suite("Journal of an interrupted stitch")
struct StitchJournalTests {
    private let directory: TemporaryDirectory
    private let output: String
    private let path: String

    init() throws {
        directory = try TemporaryDirectory()
        output = directory.path("out.mp4")
        path = directory.path(".out.mp4.resume")
    }

    private var files: [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: directory.path)) ?? []
    }

    private func packets(_ first: UInt8) -> [SharedBytes] {
        [SharedBytes([first, 2, 3]), SharedBytes([UInt8]()), SharedBytes([UInt8](repeating: first, count: 5000))]
    }

    private func add(_ first: Int, to journal: StitchJournal) throws {
        let packets = packets(UInt8(first))
        try journal.append(
            StitchJournal.Session(
                first: first, frames: 3, configuration: [1, 2],
                packets: packets.enumerated().map {
                    StitchJournal.Packet(pts: Int64(first + $0), size: $1.count, isSync: $0 == 0)
                }), packets)
    }

    private func frames(_ journal: StitchJournal, _ first: Int) throws -> [[UInt8]]? {
        try journal.session(at: first)?.packets.map(\.array)
    }

    @Test("The same job continues with an interrupted stitch's journal and its start time; another job does not")
    func again() throws {
        var journal: StitchJournal? = try StitchJournal(of: output, job: [1])
        let start = try #require(journal?.start)
        for first in [0, 7] { try journal.map { try add(first, to: $0) } }
        #expect(throws: FileFailure.self) { try StitchJournal(of: output, job: [1]) }
        journal = nil
        journal = try StitchJournal(of: output, job: [1])
        #expect(journal?.start.milliseconds == start.milliseconds)
        for first in [0, 7] {
            #expect(try journal.flatMap { try frames($0, first) } == packets(UInt8(first)).map(\.array))
        }
        #expect(try journal.flatMap { try frames($0, 3) } == nil)
        journal = nil
        journal = try StitchJournal(of: output, job: [2])
        #expect(try journal.flatMap { try frames($0, 0) } == nil)
        try journal?.remove()
        #expect(files.isEmpty)
    }

    @Test("An incomplete record of a stitch journal is ignored, and records that are added later are read")
    func torn() throws {
        var journal: StitchJournal? = try StitchJournal(of: output, job: [1])
        try journal.map { try add(0, to: $0) }
        let whole = try FileDescriptor.open(readOnly: path).size()
        try journal.map { try add(7, to: $0) }
        journal = nil
        let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        for size in [0, 3, 5, 40, Int(whole) - 1, Int(whole), Int(whole) + 2, Int(whole) + 60, bytes.count - 1] {
            try bytes.prefix(size).write(to: URL(fileURLWithPath: path))
            journal = try StitchJournal(of: output, job: [1])
            let hasFirst = try journal.flatMap { try frames($0, 0) } != nil
            #expect(hasFirst == (size >= whole), "\(size) bytes")
            #expect(try journal.flatMap { try frames($0, 7) } == nil, "\(size) bytes")
            try journal.map { try add(9, to: $0) }
            journal = nil
            journal = try StitchJournal(of: output, job: [1])
            #expect(try journal.flatMap { try frames($0, 9) } == packets(9).map(\.array), "\(size) bytes")
            journal = nil
        }
    }

    @Test("Damaged packets of a stitch journal are not used, and an implausible record does not fill the memory")
    func damaged() throws {
        var journal: StitchJournal? = try StitchJournal(of: output, job: [1])
        try journal.map { try add(0, to: $0) }
        journal = nil
        var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        bytes[bytes.count - 10] ^= 1
        try bytes.write(to: URL(fileURLWithPath: path))
        journal = try StitchJournal(of: output, job: [1])
        #expect(try journal.flatMap { try frames($0, 0) } == nil)
        journal = nil
        for seed in 0..<200 {
            var noise = bytes
            for index in 0..<8 { noise[(seed * 37 + index * 11) % noise.count] = UInt8((seed * 7 + index) % 256) }
            try noise.write(to: URL(fileURLWithPath: path))
            journal = try StitchJournal(of: output, job: [1])
            _ = try journal.flatMap { try frames($0, 0) }
            journal = nil
        }
    }

    @Test("A file that has a stitch journal's name and is not a journal is neither used nor removed")
    func foreign() throws {
        try Data("my notes".utf8).write(to: URL(fileURLWithPath: path))
        #expect(throws: FileFailure.self) { try StitchJournal(of: output, job: [1]) }
        StitchJournal.discard(of: output)
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "my notes")
    }

    @Test("Discarding a stitch journal removes it, unless another run is using it")
    func discarded() throws {
        var journal: StitchJournal? = try StitchJournal(of: output, job: [1])
        StitchJournal.discard(of: output)
        #expect(files == [".out.mp4.resume"])
        journal = nil
        StitchJournal.discard(of: output)
        #expect(journal == nil && files.isEmpty)
    }

    @Test("Temporary files of an output are removed if no process has locked them, and no other file is removed")
    func leftovers() throws {
        let names = [
            ".out.mp4.1-2.part", ".out.mp4.x-2.part", ".out.mp4.1-2-3.part", ".out2.mp4.1-2.part", "out.mp4.part",
        ]
        for name in names { try Data("x".utf8).write(to: URL(fileURLWithPath: directory.path(name))) }
        let held = try FileDescriptor.create(directory.path(".out.mp4.3-4.part"))
        #expect(held.lockCreated())
        FinishedFile.removeLeftovers(of: output)
        #expect(Set(files) == Set(names.dropFirst()).union([".out.mp4.3-4.part"]))
        held.unlock()
    }
}
