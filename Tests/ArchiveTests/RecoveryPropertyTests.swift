// SPDX-License-Identifier: Apache-2.0

import Foundation
import RecordingSamples
import TestSupport
import Testing

@testable import Archive
@testable import MP4

/// Recovers open files that a crash truncated or a disk damaged, and compares them with the sample's known fragments.
@Suite struct RecoveryPropertyTests {
    private let sample = SampleRecording(seconds: 3)
    private let part = SampleRecording.name + ".part"
    /// The name without its extension.
    private let stem = String(SampleRecording.name.dropLast(".mp4".count))

    /// Returns a directory with only one open file, which contains `bytes` and is no longer being written.
    private func directory(with bytes: some Sequence<UInt8>) throws -> TemporaryDirectory {
        let temporary = try TemporaryDirectory()
        try temporary.write(bytes, to: part)
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSinceNow: -6)], ofItemAtPath: temporary.path(part))
        return temporary
    }

    private func recover(_ temporary: TemporaryDirectory) throws -> [SegmentRecovery.Entry] {
        try SegmentRecovery.run(in: .prepare(temporary.path), channel: "test")
    }

    /// Where each fragment ends.
    private var ends: [Int] { Array(sample.fragments.dropFirst()) + [sample.open.count] }

    @Test
    func `Recovery of a truncated file keeps every complete fragment, and a second recovery changes nothing`() throws {
        var random = SeededRandom()
        var lengths = ends + ends.map { $0 - 1 }
        for _ in 0..<12 { lengths.append(Int.random(in: MovieBox.headSize...sample.open.count, using: &random)) }
        for length in lengths {
            let temporary = try directory(with: sample.open.prefix(length))
            let entries = try recover(temporary)
            #expect(entries.map(\.fileName) == [part], "\(length)")
            let whole = ends.filter { $0 <= length }
            if let end = whole.last {
                let frames = whole.count * 25
                #expect(
                    entries.first?.outcome
                        == .completed(
                            fileName: SampleRecording.name, frames: frames, droppedBytes: Int64(length - end)),
                    "\(length)")
                let facts = try SegmentReader.read(temporary.path(SampleRecording.name))
                #expect(facts.frames == frames && facts.isClosed && facts.problems.isEmpty, "\(facts.problems)")
                // The recorded data stays in its place. Only the head is replaced.
                let bytes = try temporary.bytes(SampleRecording.name)
                #expect(bytes[MovieBox.headSize..<end] == sample.open[MovieBox.headSize..<end])
            } else if case .setAside(let name, let reason) = entries.first?.outcome {
                #expect(!reason.isEmpty && temporary.files == [name])
                #expect(try temporary.bytes(name) == Array(sample.open.prefix(length)), "nothing of it is changed")
            } else {
                Issue.record("\(length): \(entries)")
            }
            #expect(temporary.files.count == 1)
            #expect(try recover(temporary).isEmpty)
        }
    }

    @Test
    func `After recovery of a damaged open file there is one file: the completed one, or the unchanged file set aside`()
        throws
    {
        var random = SeededRandom()
        for _ in 0..<25 {
            var bytes = sample.open
            for _ in 0..<Int.random(in: 1...5, using: &random) {
                let place = Int.random(in: sample.fragments[0]..<bytes.count, using: &random)
                let end = min(bytes.count, place + Int.random(in: 1...3000, using: &random))
                let value = random.pick([0, 0xFF, 0x41, 1] as [UInt8])
                for index in place..<end { bytes[index] = value }
            }
            let temporary = try directory(with: bytes)
            let entry = try #require(try recover(temporary).first)
            #expect(temporary.files.count == 1)
            switch entry.outcome {
            case .completed(let name, let frames, let dropped):
                #expect(temporary.files == [name] && dropped >= 0)
                #expect((1...75).contains(frames))
                // If the disk has changed the tables, they may be reported as damaged.
                if let facts = try? SegmentReader.read(temporary.path(name)) { #expect(facts.frames == frames) }
            case .setAside(let name, _): #expect(try temporary.bytes(name) == bytes)
            case .renamed, .inUse, .failed: Issue.record("\(entry)")
            }
            #expect(try recover(temporary).isEmpty)
        }
    }

    @Test func `If the name for a recovered file is taken, the file gets a number, and no file is lost`() throws {
        let temporary = try directory(with: sample.open)
        try temporary.write([1], to: SampleRecording.name)
        try temporary.write([2], to: "\(stem).broken")
        let completed = SegmentRecovery.Outcome.completed(fileName: "\(stem)-1.mp4", frames: 75, droppedBytes: 0)
        #expect(try recover(temporary).map(\.outcome) == [completed])
        #expect(try temporary.bytes(SampleRecording.name) == [1])
        // This file contains only zeros, so nothing can be recovered from it.
        try temporary.write([UInt8](repeating: 0, count: 100), to: part)
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSinceNow: -6)], ofItemAtPath: temporary.path(part))
        guard case .setAside(let name, _) = try recover(temporary).first?.outcome else {
            Issue.record("\(temporary.files)")
            return
        }
        #expect(name == "\(stem)-1.broken")
        #expect(try temporary.bytes("\(stem).broken") == [2])
    }

    @Test func `If a crash came after a file was closed and before it was renamed, recovery only renames it`() throws {
        let temporary = try directory(with: sample.closed)
        #expect(try recover(temporary).map(\.outcome) == [.renamed(fileName: SampleRecording.name)])
        #expect(try temporary.bytes(SampleRecording.name) == sample.closed)
        // A crash between the two steps of a rename leaves both names of the file.
        try FileManager.default.linkItem(
            atPath: temporary.path(SampleRecording.name), toPath: temporary.path(part))
        #expect(try recover(temporary).map(\.outcome) == [.renamed(fileName: SampleRecording.name)])
        #expect(temporary.files == [SampleRecording.name])
    }

    @Test func `Recovery does not change a file that is in use or belongs to another channel`() throws {
        let temporary = try directory(with: sample.open)
        let writer = try FileDescriptor.open(existing: temporary.path(part))
        #expect(writer.lock())
        #expect(try recover(temporary).map(\.outcome) == [.inUse])
        writer.unlock()
        #expect(try SegmentRecovery.run(in: .prepare(temporary.path), channel: "other").isEmpty)
        #expect(temporary.files == [part])
        #expect(try recover(temporary).count == 1)
    }

    @Test func `Recovery of a truncated transport stream keeps its complete packets`() throws {
        var random = SeededRandom()
        let stream = SampleRecording.streamHead(of: "test")
        var lengths = [752, 753, 939, 940, 1000, stream.count]
        for _ in 0..<8 { lengths.append(Int.random(in: 752...stream.count, using: &random)) }
        for length in lengths {
            let temporary = try TemporaryDirectory()
            try temporary.write(stream.prefix(length), to: "\(stem).ts.part")
            let outcome = try recover(temporary).first?.outcome
            #expect(outcome == .renamed(fileName: "\(stem).ts"), "\(length)")
            #expect(try temporary.bytes("\(stem).ts") == Array(stream.prefix(length / 188 * 188)))
        }
    }
}
