// SPDX-License-Identifier: Apache-2.0

package import Media
internal import Networking

/// A peer's capabilities beyond RTMP 1.0, from `connect` or the answer to it (Enhanced RTMP v2, "Enhancing
/// NetConnection connect Command").
package struct RTMPCapabilities: Sendable, Equatable {
    /// Supported codecs by FourCC; `*` means all.
    package var fourCCs: Set<String> = []
    /// The bits of `capsEx`.
    package var extensions = 0

    /// Whether the peer supports FourCCs.
    package var isEnhanced: Bool { !fourCCs.isEmpty }

    /// Whether the peer supports the codec `fourCC` in Enhanced RTMP's form.
    package func knows(_ fourCC: String) -> Bool { fourCCs.contains("*") || fourCCs.contains(fourCC) }

    /// Reads the capabilities in the command object of `connect`; at most 64 codecs are stored.
    init(connect: AMF0Value) { add(connect) }

    /// Adds the capabilities in the command object of `connect`, or in the answer to `connect`.
    mutating func add(_ connect: AMF0Value) {
        if case .array(let list)? = connect.property("fourCcList") {
            fourCCs.formUnion(list.compactMap(\.text).prefix(32))
        }
        for map in ["videoFourCcInfoMap", "audioFourCcInfoMap"] {
            if case .object(let codecs)? = connect.property(map) { fourCCs.formUnion(codecs.keys.prefix(16)) }
        }
        extensions |= connect.property("capsEx")?.number.flatMap { Int(exactly: $0.rounded()) } ?? 0
    }

    /// The capabilities of a peer that announced none of them.
    package init() {}

    /// The codecs of `stream` that have a FourCC and that the peer does not support according to these capabilities;
    /// empty if the peer did not send its codecs.
    package func unknownCodecs(of stream: StreamDescription) -> [Media.Codec] {
        guard isEnhanced else { return [] }
        return [stream.video, stream.audio].compactMap { $0?.codec }.filter { codec in
            codec.enhancedFourCC.map { !knows($0) } ?? false
        }
    }
}

/// A client's request to publish or to play a stream.
///
/// The description contains no secrets.
package struct RTMPStreamRequest: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
    /// The requested action.
    package enum Action: String, Sendable {
        case publish
        case play
    }

    /// The requested action.
    package let action: Action
    /// The application with its instance, without surrounding slashes and without a query.
    package let app: String
    /// The stream's name, which is a publisher's key.
    package let name: String
    /// The text after a question mark in the name; without one, the text after a question mark in the application;
    /// empty without either.
    package let query: String
    /// The name that the client gives itself, such as `FMLE/3.0 (compatible; Lavf59.27.100)`.
    package let client: String
    /// The client's capabilities.
    package let capabilities: RTMPCapabilities

    /// The application and the stream's name, as written in an address.
    package var path: String { name.isEmpty ? app : "\(app)/\(name)" }

    /// The value of `field` in the query, without percent-encoding.
    package func parameter(_ field: String) -> String? {
        for pair in query.split(separator: "&") {
            let sides = pair.split(separator: "=", maxSplits: 1)
            if sides.count == 2, sides[0] == field { return URLParts.decode(sides[1]) }
        }
        return nil
    }

    init(_ action: Action, app: String, name: String, client: String, capabilities: RTMPCapabilities) {
        let (app, appQuery) = Self.divided(app)
        let (name, nameQuery) = Self.divided(name)
        self.action = action
        self.app = Self.trimmed(app)
        self.name = Self.trimmed(name)
        query = nameQuery ?? appQuery ?? ""
        // The client's name is written to logs and passed to authorization programs, so only its printable ASCII
        // characters are kept.
        let printable = client.unicodeScalars.filter { (0x20..<0x7F).contains($0.value) }
        self.client = printable.prefix(100).reduce(into: "") { $0.unicodeScalars.append($1) }
        self.capabilities = capabilities
    }

    package var description: String { "\(action.rawValue) \(app)/\(URLParts.masked(name))" }
    package var customMirror: Mirror { Mirror(self, children: ["request": description]) }

    /// The stream's name in `text`, as in ``name``: without surrounding slashes and without a query.
    static func bareName(_ text: String) -> String { trimmed(divided(text).0) }

    private static func divided(_ text: String) -> (Substring, String?) {
        guard let mark = text.firstIndex(of: "?") else { return (text[...], nil) }
        return (text[..<mark], String(text[text.index(after: mark)...]))
    }

    private static func trimmed(_ text: Substring) -> String {
        var text = text
        while text.first == "/" { text.removeFirst() }
        while text.last == "/" { text.removeLast() }
        return String(text)
    }
}
