// SPDX-License-Identifier: Apache-2.0

internal import GRDB
internal import Synchronization

extension CatalogueStore {
    /// How many events of each channel and kind are kept; the oldest are removed.
    static let mostEvents = 10_000
    /// Scenes are kept as long as there are files from their time, up to this limit: one scene every five seconds for
    /// two months.
    private static let mostScenes = 1_000_000
    /// How many new scenes are added between two counts of all scenes: counting many takes a while.
    private static let countsEach = 256

    /// Adds an event; removes events beyond the limit, and scenes without remaining files.
    func put(_ event: CatalogueEvent) throws(CatalogueFailure) {
        try write { database in
            try EventRow(event).insert(database)
            let isScene = event.kind == SceneEvent.kind
            if isScene {
                try database.execute(sql: Self.forgetScenes, arguments: [event.channel, event.channel, event.channel])
            }
            guard !isScene || isCounting(event.channel) else { return }
            try database.execute(
                sql: Self.forgetOldestEvents,
                arguments: [
                    event.channel, event.kind, event.channel, event.kind,
                    isScene ? Self.mostScenes : Self.mostEvents,
                ])
        }
    }

    /// Whether the scenes of `channel` must be counted now.
    private func isCounting(_ channel: String) -> Bool {
        scenes.withLock { scenes in
            let before = scenes[channel, default: 0]
            scenes[channel] = before + 1
            return before.isMultiple(of: Self.countsEach)
        }
    }

    private static let forgetOldestEvents = """
        DELETE FROM events WHERE channel = ? AND kind = ? AND rowid <= (
            SELECT rowid FROM events WHERE channel = ? AND kind = ? ORDER BY rowid DESC LIMIT 1 OFFSET ?)
        """

    /// Keeps the last scene before the oldest file, because that scene was on air when the file began.
    private static let forgetScenes = """
        DELETE FROM events WHERE channel = ? AND kind = 'scene' AND start < (
            SELECT max(start) FROM events WHERE channel = ? AND kind = 'scene' AND start <= (
                SELECT min(start) FROM segments WHERE channel = ? AND deleted IS NULL))
        """
}
