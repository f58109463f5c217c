// SPDX-License-Identifier: Apache-2.0

package import Kernels
internal import Media
package import Program

/// A request to change the scene on air or in the preview, and the transition to it.
package struct ProgramRequest: Sendable, Decodable {
    /// A scene, given by its name or by its layout.
    package enum SceneChoice: Sendable, Equatable {
        /// The name of a configured scene, `slate`, or the name of a source, which means that source alone.
        case named(String)
        /// A scene with this layout.
        case laidOut(SceneLayout)
    }

    /// The requested scene; nil leaves the scene unchanged.
    package var scene: SceneChoice?
    /// The requested transition. On air, nil means a cut; for the preview, nil leaves the transition of `auto`
    /// unchanged.
    package var transition: TransitionRequest?
    /// The frame of the program at which the change begins; nil means the next frame.
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

/// A transition in the syntax of requests.
package struct TransitionRequest: Sendable, Codable, Equatable {
    /// The maximum length of a transition, in seconds.
    package static let longest = 5.0

    /// The kind of transition. For a stinger it is a cut, which happens while the stinger covers the frame.
    package var type: Transition.Kind
    /// The length in seconds; nil means one second, or zero for a cut. A stinger has the length of its file.
    package var seconds: Double?
    /// How the progress of the transition depends on time; nil means linear.
    package var easing: Easing?
    /// The color in the middle of a dip, or behind the turning image of a flip; nil means black.
    package var color: RGBColor?
    /// The name of the stinger; nil for other transitions.
    package var stinger: String?

    private enum Key: String, CodingKey, CaseIterable { case type, seconds, easing, color, name }

    /// The keys of a transition in a request.
    package static var keys: [String] { Key.allCases.map(\.rawValue) }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        let word = try container.decode(String.self, forKey: .type)
        if word == TransitionName.stingerType {
            (type, stinger) = (.cut, try container.decode(String.self, forKey: .name))
        } else if let kind = Transition.Kind(word: word) {
            type = kind
        } else {
            throw UnknownWord(
                word, of: "type of transition",
                known: Transition.Kind.allCases.map(\.rawValue) + [TransitionName.stingerType])
        }
        seconds = try container.decodeIfPresent(Double.self, forKey: .seconds)
        easing = try container.decodeIfPresent(Easing.self, forKey: .easing)
        guard let text = try container.decodeIfPresent(String.self, forKey: .color) else { return }
        guard type.hasColor else { throw Refusal(.unusable, "color is for dip and flip, not for \(word).") }
        color = RGBColor(text)
        if color == nil { throw Refusal(.unusable, "color is one such as #0a64ff, not \(text).") }
    }

    /// Creates a transition without a stinger.
    package init(_ type: Transition.Kind, seconds: Double? = nil, easing: Easing? = nil, color: RGBColor? = nil) {
        (self.type, self.seconds, self.easing, self.color) = (type, seconds, easing, color)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(name.type, forKey: .type)
        try container.encodeIfPresent(seconds, forKey: .seconds)
        try container.encodeIfPresent(easing, forKey: .easing)
        try container.encodeIfPresent(color, forKey: .color)
        try container.encodeIfPresent(stinger, forKey: .name)
    }

    /// The transition's name.
    package var name: TransitionName { TransitionName(type, stinger: stinger) }
}

/// The requested changes to a source.
package struct SourceRequest: Sendable, Decodable {
    /// The new gain of the source's audio, in decibels; nil leaves the gain unchanged.
    package var gain: Double?
    /// Whether the source is muted; nil leaves this setting unchanged.
    package var muted: Bool?
    /// By how many seconds the audio is played later than without this setting; negative if it is played earlier. Nil
    /// leaves this setting unchanged.
    package var audioOffset: Double?
    /// The position to which the source's file jumps, in seconds from the file's beginning; nil for no jump.
    package var seek: Double?
    /// Whether a file restarts from its beginning.
    package var restart: Bool?

    /// Whether the request changes nothing.
    package var isEmpty: Bool { gain == nil && muted == nil && audioOffset == nil && seek == nil && restart == nil }
}

/// The requested changes to an overlay.
package struct OverlayRequest: Sendable, Decodable {
    /// The requested visibility of an overlay.
    package enum Choice: Sendable, Equatable {
        case shown
        case hidden
        /// The scenes determine whether the overlay is visible.
        case scenes
    }

    /// Whether the overlay is shown, hidden, or left to the scenes; nil leaves this setting unchanged.
    package var visible: Choice?
    /// The new text of a text overlay; nil leaves it unchanged.
    package var text: String?
    /// The length of the fade in or out, in seconds; nil means that there is no fade.
    package var seconds: Double?
    /// The frame of the program at which ``visible`` changes; nil means the next frame. ``text`` always changes at
    /// once.
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

    /// Whether the request changes nothing.
    package var isEmpty: Bool { visible == nil && text == nil }
}

// MARK: The keys of the requests

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
    /// Returns `key`, followed by each key of this list in the form `key.name`.
    package func inside(_ key: String) -> [String] { [key] + map { "\(key).\($0)" } }
}
