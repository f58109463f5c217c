// SPDX-License-Identifier: Apache-2.0

import Fleet
import TestSupport
import Testing

@Suite("Fleet view")
struct FleetViewTests {
    private static func entry(_ revision: Int64) -> FleetEntry {
        FleetEntry(.mark, created: revision, modified: revision)
    }

    @Test func `A change that is older than the known state of its key is ignored`() {
        var view = FleetView()
        let key = FleetKey(.claim, "c")
        let facts: [(entry: FleetEntry?, revision: Int64, isNews: Bool)] = [
            (Self.entry(5), 5, true), (nil, 4, false), (Self.entry(5), 5, false), (nil, 6, true),
            (Self.entry(5), 5, false),
        ]
        for fact in facts {
            let isNews = view.record(key, fact.entry, at: fact.revision)
            #expect(isNews == fact.isNews)
        }
        #expect(view[.claim, "c"] == nil && view.count == 0)
    }

    @Test func `A read of all entries finds an entry that was deleted without a reported change`() {
        var view = FleetView()
        let keys = ["a", "b", "c"].map { FleetKey(.claim, $0) }
        let all = Dictionary(uniqueKeysWithValues: keys.map { ($0, Self.entry(3)) })
        let first = view.record(all, count: 3, after: 0, at: 9)
        #expect(first.isComplete && first.news.count == 3)
        // One key was added, and one was deleted. The number of keys is unchanged, but the read contains the new key.
        let changed = [FleetKey(.claim, "d"): Self.entry(11)]
        let delta = view.record(changed, count: 3, after: 9, at: 12)
        #expect(!delta.isComplete && delta.news == [FleetKey(.claim, "d")])
        let now = all.filter { $0.key.name != "b" }.merging(changed) { $1 }
        let read = view.record(now, count: 3, after: 0, at: 12)
        #expect(read.isComplete && read.news == [FleetKey(.claim, "b")])
        #expect(view.names(of: .claim).sorted() == ["a", "c", "d"] && view.complete == 12)
        let isNews = view.record(FleetKey(.claim, "b"), Self.entry(3), at: 3)
        #expect(!isNews)
    }

    @Test func `After changes and reads in any order a view equals the store, and never returns to older content`() {
        var random = SeededRandom()
        for _ in 0..<300 {
            var (store, view): ([FleetKey: FleetEntry], FleetView) = ([:], FleetView())
            var changes: [FleetChange] = []
            var reads: [(after: Int64, changed: [FleetKey: FleetEntry], count: Int, at: Int64)] = []
            for revision in 1...Int64.random(in: 1...40, using: &random) {
                let key = FleetKey(.claim, String(Int.random(in: 0..<5, using: &random)))
                store[key] = Bool.random(using: &random) ? Self.entry(revision) : nil
                changes.append(FleetChange(key, revision: revision, entry: store[key]))
                if Int.random(in: 0..<4, using: &random) == 0 { reads.append((0, store, store.count, revision)) }
            }
            for change in changes.shuffled(using: &random) where Bool.random(using: &random) {
                _ = view.record(change.key, change.entry, at: change.revision)
                let known = view.complete
                if Bool.random(using: &random), let read = reads.randomElement(using: &random) {
                    _ = view.record(read.changed, count: read.count, after: read.after, at: read.at)
                }
                #expect(view.complete >= known)
            }
            let last = Int64(changes.count)
            let delta = store.filter { $0.value.modified > view.complete }
            let isComplete = view.record(delta, count: store.count, after: view.complete, at: last).isComplete
            if !isComplete {
                let all = view.record(store, count: store.count, after: 0, at: last)
                #expect(all.isComplete)
            }
            #expect(view.count == store.count)
            for number in 0..<5 {
                #expect(view[.claim, "\(number)"] == store[FleetKey(.claim, "\(number)")])
            }
        }
    }
}
