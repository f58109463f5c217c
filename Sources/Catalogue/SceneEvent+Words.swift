// SPDX-License-Identifier: Apache-2.0

internal import GRDB

// Catalogues of relay before 0.2 have scenes in words. They are read once, and written as JSON.
extension SceneEvent {
    /// Reads the words of a scene as catalogues had them before they had JSON; nil if they are something else.
    init?(words text: String) {
        // Events of before may have any name, up to the last colon with a space behind it.
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

    /// Whether `name` is one word, so that it can be told from what follows it.
    static func isWord(_ name: String) -> Bool { name.wholeMatch(of: /[A-Za-z0-9._-]+/) != nil }
}

extension CatalogueSchema {
    /// Writes scenes that are there in words as JSON. What cannot be read stays as it is, for people.
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
