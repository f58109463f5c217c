// SPDX-License-Identifier: Apache-2.0

import Archive
import Foundation
import Media
import RecordingSamples
import TestSupport
import Testing

@testable import Catalogue
@testable import Library

/// Random changes of a directory of recordings by an operator, a recorder and other programs, together with a model:
/// after each step the directory must contain exactly the model's files.
struct DeletionWalk {
    private static let opened = SampleRecording(seconds: 1, channel: "main").open
    private static let finished = SampleRecording(seconds: 1, channel: "main").closed
    private static let strange = SampleRecording(seconds: 2, channel: "other").closed
    private static let mostFiles = 8
    /// The number of plans that the walk stores. It is lower than the limit, so that each plan stays valid for its
    /// minute.
    private static let mostPlans = 30

    /// The plan that belongs to a token.
    private struct Announced {
        let token: String
        let subject: DeletionSubject
        let files: [DeletedRecording]
        let made = ContinuousClock.now
        var isGood: Bool
    }

    /// The result of a deletion.
    private enum Outcome: Equatable {
        case refused(Refusal.Kind)
        case deleted([DeletedRecording])
    }

    /// The number of files that were deleted by tokens.
    private(set) var deletions = 0
    private let place: TemporaryDirectory
    private let directory: RecordDirectory
    private let archive: ChannelArchive
    private let catalogue: Catalogue?
    /// All closed names so far.
    private var names: [String] = []
    /// The closed files, and whether their content is a recording of the channel.
    private var closed: [String: Bool] = [:]
    /// The closed names of the open files.
    private var open: Set<String> = []
    private var held: Set<String> = []
    /// The files that another process has locked.
    private var busy: [String: FileDescriptor] = [:]
    /// The files that the catalogue contains.
    private var known: Set<String> = []
    private var announced: [Announced] = []

    init(hasCatalogue: Bool) throws {
        place = try TemporaryDirectory()
        directory = try .prepare(place.path)
        archive = ChannelArchive(place.path, channel: "main")
        catalogue = hasCatalogue ? Catalogue(directory: directory, channel: "main", logger: quiet) : nil
    }

    /// Executes a random action, and compares the result with the model's.
    mutating func step(_ random: inout SeededRandom) throws {
        let name = names.randomElement(using: &random) ?? "main_20261121T140310.123Z_000000.mp4"
        switch Int.random(in: 0..<13, using: &random) {
        case 0, 1: try add(isOpen: Bool.random(using: &random))
        case 2: try close(name)
        case 3: hold(name)
        case 4: letGo(name)
        case 5: try disturb(name, Int.random(in: 0..<3, using: &random))
        case 6, 7: try plan(name)
        case 8, 9: try planSeveral(&random)
        default: redeem(&random)
        }
    }

    /// Compares the directory with the model.
    func check() throws {
        let expected = Array(closed.keys) + open.map { $0 + SegmentName.openMark }
        #expect(place.files == expected.sorted())
        #expect(try HoldMark.names(in: directory) == held)
    }

    // MARK: Actions of the recorder and others

    private mutating func add(isOpen: Bool) throws {
        guard closed.count + open.count < Self.mostFiles else { return }
        let name = SegmentName(channel: "main", start: SampleRecording.start, sequence: names.count + 1).closed
        names.append(name)
        if isOpen {
            try place.write(Self.opened, to: name + SegmentName.openMark)
            open.insert(name)
        } else {
            try place.write(Self.finished, to: name)
            appear(name)
        }
    }

    private mutating func close(_ name: String) throws {
        guard open.remove(name) != nil else { return }
        let path = place.path(name + SegmentName.openMark)
        try place.write(Self.finished, to: name + SegmentName.openMark)
        try FileManager.default.moveItem(atPath: path, toPath: place.path(name))
        appear(name)
    }

    private mutating func appear(_ name: String) {
        closed[name] = true
        guard let catalogue else { return }
        catalogue.segmentRecovered(fileName: name)
        catalogue.waitUntilIdle()
        known.insert(name)
    }

    /// Removes a closed file by hand, replaces it by another channel's, or locks or unlocks it.
    private mutating func disturb(_ name: String, _ way: Int) throws {
        if busy.removeValue(forKey: name) != nil { return }
        guard closed[name] != nil else { return }
        switch way {
        case 0:
            try FileManager.default.removeItem(atPath: place.path(name))
            closed[name] = nil
        case 1:
            try place.write(Self.strange, to: name)
            closed[name] = false
        default:
            let file = try FileDescriptor.open(existing: place.path(name))
            #expect(file.lock())
            busy[name] = file
        }
    }

    // MARK: Actions of the operator

    /// Whether the file is a recording of the channel, closed or open, by the catalogue or by its own metadata.
    private func isThere(_ name: String) -> Bool { isClosed(name) || open.contains(name) }

    private func isClosed(_ name: String) -> Bool { closed[name].map { $0 || known.contains(name) } ?? false }

    private mutating func hold(_ name: String) {
        // A hold is blocked as long as another process has the lock.
        guard busy[name] == nil else { return }
        let archive = archive
        let answer = refusal { try archive.setHold(true, of: RecordingID.id(of: name)) }
        let expected: Refusal.Kind? = isThere(name) ? nil : .notFound
        #expect(answer == expected)
        if isThere(name) { held.insert(name) }
    }

    private mutating func letGo(_ name: String) {
        let archive = archive
        let answer = refusal { try archive.setHold(false, of: RecordingID.id(of: name)) }
        let expected: Refusal.Kind? = isThere(name) ? nil : .notFound
        #expect(answer == expected)
        if isThere(name) { held.remove(name) }
    }

    private var mayPlan: Bool { announced.count { $0.isGood } < Self.mostPlans }

    private mutating func plan(_ name: String) throws {
        guard mayPlan else { return }
        let id = RecordingID.id(of: name)
        let mustStay = !isClosed(name) || held.contains(name)
        let expected: Refusal.Kind? = isThere(name) ? (mustStay ? .conflict : nil) : .notFound
        let archive = archive
        var plan: DeletionPlan?
        let answer = refusal { plan = try archive.planDeletion(of: id) }
        #expect(answer == expected)
        guard let plan else { return }
        let described = try described(name)
        #expect(plan.deletes == [described])
        announced.append(
            Announced(token: plan.token, subject: .recording(id: id), files: plan.deletes, isGood: true))
    }

    /// Plans the deletion of several files, now or more than a minute ago.
    private mutating func planSeveral(_ random: inout SeededRandom) throws {
        guard mayPlan else { return }
        let free = closed.keys.filter { closed[$0] == true && !held.contains($0) }.sorted()
        let files = try free.shuffled(using: &random).prefix(3).map { try described($0) }
        let subject = DeletionSubject.room(bytes: Int64.random(in: 1...1000, using: &random))
        let isLate = Int.random(in: 0..<3, using: &random) == 0
        let age: Duration = isLate ? .seconds(61) : .zero
        let token = archive.plans.add(files, for: subject, now: ContinuousClock.now - age)
        announced.append(Announced(token: token, subject: subject, files: files, isGood: !isLate))
    }

    private func described(_ name: String) throws -> DeletedRecording {
        DeletedRecording(id: RecordingID.id(of: name), name: name, bytes: Int64(try place.bytes(name).count))
    }

    /// Sends one of the tokens so far, sometimes for a wrong subject.
    private mutating func redeem(_ random: inout SeededRandom) {
        guard let index = announced.indices.randomElement(using: &random) else { return }
        let plan = announced[index]
        // If the machine is so slow that the token's minute is nearly over, the result is not predictable.
        guard !plan.isGood || ContinuousClock.now - plan.made < .seconds(40) else {
            announced.remove(at: index)
            return
        }
        let isOther = Int.random(in: 0..<6, using: &random) == 0
        let expected: Outcome = isOther || !plan.isGood ? .refused(.conflict) : outcome(of: plan.files)
        let found = delete(plan.token, isOther ? .room(bytes: -1) : plan.subject)
        #expect(found == expected)
        if !isOther { announced[index].isGood = false }
        guard case .deleted(let files) = expected else { return }
        for file in files {
            closed[file.name] = nil
            known.remove(file.name)
        }
        deletions += files.count
    }

    /// The expected result of a valid token of `files`. If one of the files is held, the deletion is refused. Otherwise
    /// the files that still are recordings of the channel and are not locked are deleted.
    private func outcome(of files: [DeletedRecording]) -> Outcome {
        if files.contains(where: { held.contains($0.name) }) { return .refused(.conflict) }
        let gone = files.filter { closed[$0.name] == true && busy[$0.name] == nil }
        let isStrange = files.contains { closed[$0.name] == false }
        return gone.isEmpty && isStrange ? .refused(.unavailable) : .deleted(gone)
    }

    private func delete(_ token: String, _ subject: DeletionSubject) -> Outcome {
        do throws(Refusal) {
            return .deleted(try archive.delete(token: token, subject: subject).deleted)
        } catch {
            return .refused(error.kind)
        }
    }
}
