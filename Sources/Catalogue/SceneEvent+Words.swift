// SPDX-License-Identifier: Apache-2.0

internal import GRDB

// Catalogues from relay before 0.2 have scenes in words. They are read once, and rewritten as JSON.
extension SceneEvent {
    /// Reads a scene from the words of older catalogues; nil if the text is something else.
    init?(words text: String) {
        // In old events a scene's name may contain anything. It ends at the last colon that is followed by a space.
        let form = /(?:(.+): )?([^ :]+)((?: [^ ]+)*) from frame (\d+)(?: of ([0-9a-f]+))? \((.+?)(?: ([\d.]+) s)?\)/
        guard let match = text.wholeMatch(of: form), let frame = Int64(match.output.4),
            match.output.6.wholeMatch(of: /[a-z-]+|stinger [A-Za-z0-9._-]+/) != nil
        else { return nil }
        let words = match.output.3.split(separator: " ").map(String.init)
        let name = match.output.1.map(String.init)
        self.init(
            name: name.flatMap { Self.isWord($0) ? $0 : nil }, layout: String(match.output.2),
            sources: words.filter { !$0.contains("=") }, frame: frame, run: match.output.5.map(String.init),
            transition: String(match.output.6), seconds: match.output.7.flatMap { Double($0) },
            details: words.filter { $0.contains("=") })
    }

    /// Whether `name` is one word, so that it can be separated from the text after it.
    static func isWord(_ name: String) -> Bool { name.wholeMatch(of: /[A-Za-z0-9._-]+/) != nil }
}

extension CatalogueSchema {
    /// Rewrites scenes in words as JSON. Unreadable text stays unchanged, for people to read.
    static func rewriteScenes(_ database: Database) throws {
        let rows = try Row.fetchCursor(
            database, sql: "SELECT rowid AS place, text FROM events WHERE kind = ?", arguments: [SceneEvent.kind])
        let update = try database.makeStatement(sql: "UPDATE events SET text = ? WHERE rowid = ?")
        var read: [(place: Int64, json: String)] = []
        while let row = try rows.next() {
            guard let place = Int64.fromDatabaseValue(row["place"]), let words = String.fromDatabaseValue(row["text"]),
                let scene = SceneEvent(words: words)
            else { continue }
            read.append((place, try scene.json()))
        }
        for (place, json) in read { try update.execute(arguments: [json, place]) }
    }
}
