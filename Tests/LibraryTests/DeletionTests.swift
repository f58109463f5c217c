// SPDX-License-Identifier: Apache-2.0

import Archive
import Dispatch
import Foundation
import Media
import RecordingSamples
import Synchronization
import TestSupport
import Testing

@testable import Catalogue
@testable import Library

@Suite("Deleting recordings by hand")
struct DeletionTests {
    private func name(_ number: Int, format: RecordFormat = .hybrid) -> String {
        SegmentName(channel: "main", start: SampleRecording.start, sequence: number, format: format).closed
    }

    /// A deletion plan that the test has stored, with its token.
    private struct Kept {
        let token: String
        let subject: DeletionSubject
        let files: [DeletedRecording]
        let until: ContinuousClock.Instant
    }

    private func subject(_ random: inout SeededRandom) -> DeletionSubject {
        let number = Int64.random(in: 0..<2, using: &random)
        return Bool.random(using: &random) ? .recording(id: "\(number)") : .room(bytes: number)
    }

    @Test("A deletion token is valid once, for one recording, for a minute, and while it is among the newest 32")
    func tokens() {
        var random = SeededRandom()
        for pace in [200, 3000, 30_000] + [Int](repeating: 1500, count: 17) {
            let plans = DeletionPlans()
            var (model, tokens, now) = ([Kept](), [String](), ContinuousClock.now)
            for step in 0..<200 {
                now += .milliseconds(Int.random(in: 1...pace, using: &random))
                let subject = subject(&random)
                if Bool.random(using: &random) {
                    let files = [DeletedRecording(id: "\(step)", name: "\(step).mp4", bytes: Int64(step))]
                    let token = plans.add(files, for: subject, now: now)
                    model.removeAll { $0.until <= now }
                    if model.count == 32 { model.removeFirst() }
                    model.append(Kept(token: token, subject: subject, files: files, until: now + .seconds(60)))
                    tokens.append(token)
                } else if let token = tokens.suffix(50).randomElement(using: &random) {
                    let index = model.firstIndex { $0.token == token && $0.subject == subject }
                    let kept = index.map { model.remove(at: $0) }
                    let expected = kept.flatMap { $0.until > now ? $0.files : nil }
                    let taken = plans.take(token, for: subject, now: now)
                    #expect(taken?.files == expected)
                }
            }
            #expect(Set(tokens).count == tokens.count)
        }
    }

    @Test(
        "A recording is deleted only if a valid deletion token names it and the recording is not held",
        arguments: [false, true])
    func walk(hasCatalogue: Bool) throws {
        var random = SeededRandom("walk \(hasCatalogue)")
        var deletions = 0
        for _ in 0..<3 {
            var walk = try DeletionWalk(hasCatalogue: hasCatalogue)
            for _ in 0..<120 {
                try walk.step(&random)
                try walk.check()
            }
            deletions += walk.deletions
        }
        #expect(deletions > 0)
    }

    /// Makes sparse files of `size` bytes in `place`, and their rows in the catalogue. `order` has their numbers, the
    /// oldest first.
    private func record(_ order: [Int], size: Int64, in place: TemporaryDirectory) throws {
        for (age, number) in order.enumerated() {
            try place.write(SampleRecording.streamHead(of: "main"), to: name(number, format: .ts))
            try FileDescriptor.open(existing: place.path(name(number, format: .ts))).truncate(to: size)
            let record = SegmentRecord(
                fileName: name(number, format: .ts), channel: "main", sequence: number,
                start: UTCTime(milliseconds: SampleRecording.start.milliseconds + Int64(age) * 1000), programStart: 0,
                programEnd: 1_000_000_000, frames: 25, audioSamples: 0, bytes: size, ending: .stop, run: "r\(number)")
            try CatalogueStore(directory: place.path).put([CatalogueSegment(record: record)], living: [])
        }
    }

    @Test("The oldest files that may be deleted are deleted to make space, and no more than necessary")
    func room() throws {
        let place = try TemporaryDirectory()
        let directory = try RecordDirectory.prepare(place.path)
        let archive = ChannelArchive(place.path, channel: "main")
        // The sparse files occupy no space, and report so much that other writes to the disk meanwhile are negligible.
        let size: Int64 = 1 << 36
        var random = SeededRandom()
        let order = Array(1...8).shuffled(using: &random)
        try record(order, size: size, in: place)
        for number in [order[0], order[3]] { try HoldMark.set(of: name(number, format: .ts), in: directory) }
        var free = order.indices.filter { $0 != 0 && $0 != 3 }.map { name(order[$0], format: .ts) }
        let room = { (count: Int) in
            try SystemFreeSpace().space(at: place.path).free + Int64(count) * size - size / 2
        }
        for count in 0...free.count {
            #expect(try archive.planRoom(for: room(count)).deletes.map(\.name) == Array(free.prefix(count)))
        }
        let most = try room(free.count + 1)
        let refused = refusal { _ = try archive.planRoom(for: most) }
        #expect(refused == .conflict)
        // A file that is held after the plan was made prevents the deletion of all files of the plan.
        let asked = try room(3)
        let plan = try archive.planRoom(for: asked)
        try archive.setHold(true, of: RecordingID.id(of: free[1]))
        let held = refusal { _ = try archive.delete(token: plan.token, subject: .room(bytes: asked)) }
        #expect(held == .conflict && place.files.count == 8)
        free.remove(at: 1)
        let next = try archive.planRoom(for: asked)
        let result = try archive.delete(token: next.token, subject: .room(bytes: asked))
        #expect(result.deleted.map(\.name) == Array(free.prefix(3)) && result.freedBytes == 3 * size)
        #expect(Set(place.files) == Set(order.map { name($0, format: .ts) }).subtracting(free.prefix(3)))
        let listed = try archive.list(0..<Int64.max, limit: 10).recordings.filter { $0.state == .finished }
        #expect(listed.map(\.name).sorted() == place.files)
    }

    @Test("A hold during a deletion keeps the file, or is refused because the file is already deleted")
    func beside() throws {
        let place = try TemporaryDirectory()
        let directory = try RecordDirectory.prepare(place.path)
        let archive = ChannelArchive(place.path, channel: "main")
        let bytes = SampleRecording(seconds: 1, channel: "main").closed
        for number in 1...40 {
            try place.write(bytes, to: name(number))
            let id = RecordingID.id(of: name(number))
            let token = try archive.planDeletion(of: id).token
            let hold = Mutex<Refusal.Kind?>(nil)
            let deleted = Mutex(0)
            DispatchQueue.concurrentPerform(iterations: 2) { turn in
                if turn == number % 2 {
                    let answer = refusal { try archive.setHold(true, of: id) }
                    hold.withLock { $0 = answer }
                } else {
                    let result = try? archive.delete(token: token, subject: .recording(id: id))
                    deleted.withLock { $0 = result?.deleted.count ?? 0 }
                }
            }
            let (answer, count) = (hold.withLock { $0 }, deleted.withLock { $0 })
            let isThere = FileManager.default.fileExists(atPath: place.path(name(number)))
            #expect(answer == (isThere ? nil : Refusal.Kind.notFound))
            #expect(count == (isThere ? 0 : 1) && HoldMark.isSet(of: name(number), in: directory) == isThere)
        }
    }

    @Test("If eight clients send the same deletion token, one of them deletes the file, and the others are refused")
    func together() throws {
        let place = try TemporaryDirectory()
        _ = try RecordDirectory.prepare(place.path)
        let archive = ChannelArchive(place.path, channel: "main")
        try place.write(SampleRecording(seconds: 1, channel: "main").closed, to: name(1))
        let id = RecordingID.id(of: name(1))
        let plan = try archive.planDeletion(of: id)
        let answers = Mutex<[Refusal.Kind?]>([])
        DispatchQueue.concurrentPerform(iterations: 8) { _ in
            let answer = refusal { _ = try archive.delete(token: plan.token, subject: .recording(id: id)) }
            answers.withLock { $0.append(answer) }
        }
        let all = answers.withLock { $0 }
        #expect(all.count { $0 == nil } == 1 && all.count { $0 == .conflict } == 7 && place.files.isEmpty)
    }

    @Test("If the recording directory is missing, nothing is listed or deleted, and it is not created")
    func noDirectory() throws {
        let place = try TemporaryDirectory()
        let archive = ChannelArchive(place.path("missing"), channel: "main")
        let list = try archive.list(0..<Int64.max, limit: 10)
        #expect(list.recordings.isEmpty && list.gaps.isEmpty && list.events.isEmpty)
        let token = archive.plans.add([], for: .room(bytes: 1))
        let refusals = [
            refusal { _ = try archive.playlist(from: 0, to: nil) }, refusal { _ = try archive.planRoom(for: 1) },
            refusal { _ = try archive.delete(token: token, subject: .room(bytes: 1)) },
            refusal { _ = try archive.planDeletion(of: RecordingID.id(of: name(1))) },
        ]
        #expect(refusals == [.notFound, .conflict, .conflict, .notFound] && place.all.isEmpty)
    }
}
