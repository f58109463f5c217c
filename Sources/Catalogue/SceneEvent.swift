// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import GRDB

/// The event that a scene went on air in a program of several sources.
package struct SceneEvent: Sendable, Codable, Equatable {
    /// The kind that the catalogue stores for events about scenes.
    package static let kind = "scene"

    /// The scene's name, if it has one.
    package var name: String?
    /// The scene's layout.
    package var layout: String
    /// The visible sources, the main one first.
    package var sources: [String]
    /// The first program frame that shows the scene, even partly.
    package var frame: Int64
    /// The recorder's run in whose program time the frame is counted; nil if it is not stored.
    package var run: String?
    /// The name of the transition to the scene.
    package var transition: String
    /// The duration of the transition in seconds; nil if it is not stored.
    package var seconds: Double?
    /// Further details, such as `width=0.25`: see ``detail(_:_:)``.
    package var details: [String] = []

    package init(
        name: String?, layout: String, sources: [String], frame: Int64, run: String? = nil, transition: String,
        seconds: Double? = nil, details: [String] = []
    ) {
        (self.name, self.layout, self.sources, self.details) = (name, layout, sources, details)
        (self.frame, self.run, self.transition, self.seconds) = (frame, run, transition, seconds)
    }

    /// The event in words, such as `duo: pip cam1 cam2 width=0.3 from frame 120 of 3f2a (fade 0.5 s)`. If the
    /// scene's name (here `duo`) has several words, it is left out, because a reader could not see where it ends.
    package var text: String {
        let scene = ([layout] + sources + details).joined(separator: " ")
        let title = name.flatMap { Self.isWord($0) ? "\($0): " : nil } ?? ""
        let place = "from frame \(frame)\(run.map { " of \($0)" } ?? "")"
        return "\(title)\(scene) \(place) (\(transition)\(seconds.map { " \($0) s" } ?? ""))"
    }

    /// Reads the text that ``json()`` returns; nil for any other text.
    init?(json: String) {
        guard let scene = try? JSONDecoder().decode(Self.self, from: Data(json.utf8)) else { return nil }
        self = scene
    }

    /// Returns the event in the form that the catalogue stores.
    func json() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(self), as: UTF8.self)
    }

    /// Whether this scene is called `name`, or shows the source `name`.
    package func shows(_ name: String) -> Bool { self.name == name || sources.contains(name) }
}

// MARK: Details

extension SceneEvent {
    /// Returns a detail as one word; characters that would end the detail are percent-encoded.
    package static func detail(_ key: String, _ value: String) -> String {
        let bytes = value.utf8.map { byte -> String in
            let isPlain = byte > 0x20 && byte != 0x7F && byte != UInt8(ascii: "%")
            if isPlain, byte < 0x80 { return String(UnicodeScalar(byte)) }
            let digits = String(byte, radix: 16, uppercase: true)
            return digits.count == 1 ? "%0\(digits)" : "%\(digits)"
        }
        return "\(key)=\(bytes.joined())"
    }

    /// Returns the value of the detail `key`; nil without one.
    package func detail(_ key: String) -> String? {
        guard let word = details.last(where: { $0.hasPrefix("\(key)=") }) else { return nil }
        var bytes: [UInt8] = []
        var rest = word.utf8.dropFirst(key.utf8.count + 1)
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), let digits = String(rest.prefix(2)), let code = UInt8(digits, radix: 16) {
                bytes.append(code)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

// Catalogues from relay before 0.2 have scenes in words. These scenes are read once, and rewritten as JSON.
extension SceneEvent {
    /// Reads a scene from the words of older catalogues; nil if the text is something else.
    init?(words text: String) {
        // In old events a scene's name can contain anything. The name ends at the last colon that is followed by a
        // space.
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
    private static func isWord(_ name: String) -> Bool { name.wholeMatch(of: /[A-Za-z0-9._-]+/) != nil }
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
