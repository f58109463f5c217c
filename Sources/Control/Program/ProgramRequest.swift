// SPDX-License-Identifier: Apache-2.0

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

    private enum Key: String, CodingKey { case scene, transition, at }

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

    /// What is seen.
    package var type: Transition.Kind
    /// How long it lasts; a second without it, and nothing for a cut.
    package var seconds: Double?
    /// The pace; linear without it.
    package var easing: Easing?

    private enum Key: String, CodingKey { case type, seconds, easing }

    /// What a word without a direction stands for.
    private static let usual: [String: Transition.Kind] = [
        "flip": .flipHorizontal, "slide": .slideLeft, "push": .pushLeft, "wipe": .wipeLeft, "zoom": .zoomIn,
    ]

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        let word = try container.decode(String.self, forKey: .type)
        guard let kind = Transition.Kind(rawValue: word) ?? Self.usual[word] else {
            throw DecodingError.dataCorruptedError(forKey: .type, in: container, debugDescription: "no transition")
        }
        type = kind
        seconds = try container.decodeIfPresent(Double.self, forKey: .seconds)
        easing = try container.decodeIfPresent(Easing.self, forKey: .easing)
    }

    /// A transition.
    package init(_ type: Transition.Kind, seconds: Double? = nil, easing: Easing? = nil) {
        (self.type, self.seconds, self.easing) = (type, seconds, easing)
    }
}

/// What is to be changed of a source.
package struct SourceRequest: Sendable, Decodable {
    /// In decibels.
    package var gain: Double?
    /// Whether nothing of it is heard.
    package var muted: Bool?

    /// Whether nothing is to be changed.
    package var isEmpty: Bool { gain == nil && muted == nil }
}
