// SPDX-License-Identifier: Apache-2.0

/// What a host knows of the store's entries. It accepts changes in any order, and keeps the newest state of each key.
package struct FleetView: Sendable {
    /// The newest known state of a key: its entry, or nil if the entry was deleted, and the revision.
    private struct Fact {
        var revision: Int64
        var entry: FleetEntry?
    }

    private var facts: [FleetKey: Fact] = [:]
    /// Keys whose entries were deleted. They are kept until the view is complete up to the revisions of the deletions.
    private var ended: Set<FleetKey> = []
    /// The view contains every change up to this revision, and ignores later reports of such changes.
    package private(set) var complete: Int64 = 0
    /// The number of existing entries that the view knows.
    package private(set) var count = 0
    /// The number of living hosts that the view knows.
    package private(set) var hosts = 0
    /// The highest revision of any known state.
    private var newest: Int64 = 0

    /// A view that knows no key.
    package init() {}

    /// The entry of `key`, if the view knows one.
    package subscript(_ kind: FleetKey.Kind, _ name: String) -> FleetEntry? { facts[FleetKey(kind, name)]?.entry }

    /// The keys of all existing entries of this kind.
    package func names(of kind: FleetKey.Kind) -> [String] {
        facts.compactMap { key, fact in key.kind == kind && fact.entry != nil ? key.name : nil }
    }

    /// Records that `key` had this entry at `revision`. Returns whether the view has changed: the entry, or its
    /// deletion, was not known.
    package mutating func record(_ key: FleetKey, _ entry: FleetEntry?, at revision: Int64) -> Bool {
        let known = facts[key]
        guard revision > max(known?.revision ?? 0, complete) else { return false }
        newest = max(newest, revision)
        facts[key] = Fact(revision: revision, entry: entry)
        if entry == nil { ended.insert(key) } else if known?.entry == nil { ended.remove(key) }
        let change = (entry == nil ? 0 : 1) - (known?.entry == nil ? 0 : 1)
        count += change
        if key.kind == .host { hosts += change }
        return entry != known?.entry
    }

    /// Records all entries that changed after `revision`, which a read at revision `now` returned, with the number of all
    /// entries. Returns the keys whose entries have changed, and whether the view is complete now. It is not complete
    /// if the number shows that entries were deleted, because the read does not say which. Then all entries must be
    /// read.
    package mutating func record(
        _ changed: [FleetKey: FleetEntry], count total: Int, after revision: Int64, at now: Int64
    ) -> (news: [FleetKey], isComplete: Bool) {
        guard now >= complete else { return ([], true) }
        var news = changed.filter { record($0.key, $0.value, at: now) }.map(\.key)
        if revision == 0 {
            for key in Array(facts.keys) where changed[key] == nil && record(key, nil, at: now) { news.append(key) }
        } else if newest <= now && count != total {
            return (news, false)
        }
        complete = now
        for key in ended where facts[key].map({ $0.revision <= complete }) != false {
            facts[key] = nil
            ended.remove(key)
        }
        return (news, true)
    }
}
