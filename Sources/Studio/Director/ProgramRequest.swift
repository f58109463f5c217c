// SPDX-License-Identifier: Apache-2.0

package import Kernels
internal import Media
package import Program

/// What is to be on air, or in the preview, and how it gets there.
package struct ProgramRequest: Sendable, Decodable {
    /// A scene by its name, or as it is laid out.
    package enum SceneChoice: Sendable, Equatable {
        /// One of the configuration's, or a source's name for that source alone.
        case named(String)
        /// As it says itself.
        case laidOut(SceneLayout)
    }

    /// The scene; the one that is there without it.
    package var scene: SceneChoice?
    /// How it gets there; as it was set last without it.
    package var transition: TransitionRequest?
    /// The frame of the program at which it begins; the next one without it.
    package var at: Int64?

    private enum Key: String, CodingKey, CaseIterable { case scene, transition, at }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        if let name = try? container.decode(String.self, forKey: .scene) {
            scene = .named(name)
        } else {
            scene = try container.decodeIfPresent(SceneLayout.self, forKey: .scene).map { .laidOut($0) }
        }
        transition = try container.decodeIfPresent(TransitionRequest.self, forKey: .transition)
        at = try container.decodeIfPresent(Int64.self, forKey: .at)
    }
}

/// A transition as people write it.
package struct TransitionRequest: Sendable, Codable, Equatable {
    /// How long one may last.
    package static let longest = 5.0

    private static let stinger = "stinger"

    /// What is seen; a cut below a stinger.
    package var type: Transition.Kind
    /// How long it lasts; a second without it, and nothing for a cut. A stinger is as long as it is.
    package var seconds: Double?
    /// The pace; linear without it.
    package var easing: Easing?
    /// What a dip goes through, and what is behind a card that turns; black without it.
    package var color: RGBColor?
    /// The stinger of this name.
    package var stinger: String?

    private enum Key: String, CodingKey, CaseIterable { case type, seconds, easing, color, name }

    /// Its keys in a request.
    package static var keys: [String] { Key.allCases.map(\.rawValue) }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        let word = try container.decode(String.self, forKey: .type)
        if word == Self.stinger {
            (type, stinger) = (.cut, try container.decode(String.self, forKey: .name))
        } else if let kind = Transition.Kind(word: word) {
            type = kind
        } else {
            throw UnknownWord(
                word, of: "type of transition", known: Transition.Kind.allCases.map(\.rawValue) + [Self.stinger])
        }
        seconds = try container.decodeIfPresent(Double.self, forKey: .seconds)
        easing = try container.decodeIfPresent(Easing.self, forKey: .easing)
        guard let text = try container.decodeIfPresent(String.self, forKey: .color) else { return }
        guard type.hasColor else { throw Refusal(.unusable, "color is for dip and flip, not for \(word).") }
        color = RGBColor(text)
        if color == nil { throw Refusal(.unusable, "color is one such as #0a64ff, not \(text).") }
    }

    /// A transition.
    package init(_ type: Transition.Kind, seconds: Double? = nil, easing: Easing? = nil, color: RGBColor? = nil) {
        (self.type, self.seconds, self.easing, self.color) = (type, seconds, easing, color)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(stinger == nil ? type.rawValue : Self.stinger, forKey: .type)
        try container.encodeIfPresent(seconds, forKey: .seconds)
        try container.encodeIfPresent(easing, forKey: .easing)
        try container.encodeIfPresent(color, forKey: .color)
        try container.encodeIfPresent(stinger, forKey: .name)
    }

    /// The word for it in logs.
    package var word: String { stinger.map { "\(Self.stinger) \($0)" } ?? type.rawValue }
}

/// What is to be changed in a source.
package struct SourceRequest: Sendable, Decodable {
    /// The gain in decibels.
    package var gain: Double?
    /// Whether nothing of it is heard.
    package var muted: Bool?
    /// How much later its audio is heard than it comes, in seconds; earlier if negative.
    package var audioOffset: Double?
    /// Where a file continues, in seconds from its beginning.
    package var seek: Double?
    /// Whether a file begins again from its start.
    package var restart: Bool?

    /// Whether nothing is to be changed.
    package var isEmpty: Bool {
        gain == nil && muted == nil && audioOffset == nil && seek == nil && restart == nil
    }
}

/// What is to be changed in an overlay.
package struct OverlayRequest: Sendable, Decodable {
    /// Whether it is to be seen.
    package enum Choice: Sendable, Equatable {
        case shown
        case hidden
        /// What scenes say.
        case scenes
    }

    /// Whether it is seen.
    package var visible: Choice?
    /// What it says, if it is a text.
    package var text: String?
    /// How long it takes to come or go; nothing without it.
    package var seconds: Double?
    /// The frame of the program at which it begins; the next one without it.
    package var at: Int64?

    private enum Key: String, CodingKey, CaseIterable { case visible, text, seconds, at }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        if container.contains(.visible) {
            let isVisible = try container.decodeIfPresent(Bool.self, forKey: .visible)
            visible = isVisible.map { $0 ? .shown : .hidden } ?? .scenes
        }
        text = try container.decodeIfPresent(String.self, forKey: .text)
        seconds = try container.decodeIfPresent(Double.self, forKey: .seconds)
        at = try container.decodeIfPresent(Int64.self, forKey: .at)
    }

    /// Whether nothing is to be changed.
    package var isEmpty: Bool { visible == nil && text == nil }
}

// MARK: The keys that they may have

extension ProgramRequest {
    package static var keys: [String] {
        let scene = SceneLayout.keys + SceneLayout.Inset.keys.inside("inset")
        return Key.allCases.map(\.rawValue) + scene.inside("scene") + TransitionRequest.keys.inside("transition")
    }
}

extension SourceRequest {
    package static var keys: [String] { ["gain", "muted", "audioOffset", "seek", "restart"] }
}

extension OverlayRequest {
    package static var keys: [String] { Key.allCases.map(\.rawValue) }
}

extension [String] {
    /// These keys as those of the object `key`, which is one, too.
    package func inside(_ key: String) -> [String] { [key] + map { "\(key).\($0)" } }
}
