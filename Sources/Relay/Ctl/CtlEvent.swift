// SPDX-License-Identifier: Apache-2.0

internal import Foundation

/// One event of a running relay.
struct CtlEvent: Decodable {
    let time: String
    let channel: String?
    let level: String
    let kind: String
    let output: String?
    let text: String
    /// The JSON text of the event as relay sent it.
    private(set) var json = ""

    private enum CodingKeys: String, CodingKey { case time, channel, level, kind, output, text }

    /// Reads an event from its JSON text.
    init(json: String) throws {
        self = try JSONDecoder().decode(Self.self, from: Data(json.utf8))
        self.json = json
    }

    /// The event as a line for people, in the form of a log line.
    var line: String {
        let name = level + String(repeating: " ", count: max(0, 7 - level.count))
        let subject = [channel, output].compactMap(\.self).joined(separator: "/")
        let head = PrintedText.escaped("\(time) \(name) \(subject.isEmpty ? kind : subject)")
        return "\(head): \(PrintedText.message(text))"
    }
}
