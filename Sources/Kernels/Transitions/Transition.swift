// SPDX-License-Identifier: Apache-2.0

internal import Media

/// How one frame gives way to another.
package struct Transition: Sendable, Hashable {
    /// What is seen. "Left" and the like say in which direction something moves. `a` was on air, `b` will be.
    package enum Kind: String, Sendable, Hashable, Codable, CaseIterable {
        /// `b` at once.
        case cut
        /// Sources move and grow from their places to others: each frame of the scene is composed again. Between two
        /// frames it is ``fade``.
        case move
        /// `a` and `b` mixed, linearly: xfade's `fade`.
        case fade
        /// `b` replaces `a` pixel by pixel, in the order of a fixed noise: xfade's `dissolve`.
        case dissolve
        /// `b` moves in over `a`, which stays in place.
        case slideLeft = "slide-left"
        /// The same, to the right.
        case slideRight = "slide-right"
        /// The same, upwards.
        case slideUp = "slide-up"
        /// The same, downwards.
        case slideDown = "slide-down"
        /// `b` moves in and `a` out before it: xfade's `slideleft`.
        case pushLeft = "push-left"
        /// The same, to the right: xfade's `slideright`.
        case pushRight = "push-right"
        /// The same, upwards: xfade's `slideup`.
        case pushUp = "push-up"
        /// The same, downwards: xfade's `slidedown`.
        case pushDown = "push-down"
        /// Both stand; the edge behind which `b` is seen moves to the left: xfade's `wipeleft`.
        case wipeLeft = "wipe-left"
        /// The same, to the right: xfade's `wiperight`.
        case wipeRight = "wipe-right"
        /// The same, upwards: xfade's `wipeup`.
        case wipeUp = "wipe-up"
        /// The same, downwards: xfade's `wipedown`.
        case wipeDown = "wipe-down"
        /// Into `a`: it grows about its middle and gives way to `b`.
        case zoomIn = "zoom-in"
        /// Out of `b`: it appears enlarged and shrinks to its size. ``zoomIn`` backwards.
        case zoomOut = "zoom-out"
        /// A card with `a` on its front turns about its upright axis and shows `b` on its back, before a color.
        case flipHorizontal = "flip-horizontal"
        /// The same, about its level axis.
        case flipVertical = "flip-vertical"
        /// `b` within a circle that grows from the middle.
        case circle
        /// `a` loses its sharpness, becomes `b`, and that gains it.
        case blur
        /// `a` goes down to a color, and `b` comes up from it.
        case dip

        /// Whether a color is seen in it.
        package var hasColor: Bool {
            switch self {
            case .dip, .flipHorizontal, .flipVertical: true
            default: false
            }
        }

        /// The kind that people call `word`, also without a direction.
        package init?(word: String) {
            switch word {
            case "flip": self = .flipHorizontal
            case "slide": self = .slideLeft
            case "push": self = .pushLeft
            case "wipe": self = .wipeLeft
            case "zoom": self = .zoomIn
            default: self.init(rawValue: word)
            }
        }
    }

    /// What is seen.
    package var kind: Kind
    /// How its progress goes with time.
    package var easing: Easing
    /// The color that ``Kind/dip`` goes through, and that is behind a card that turns.
    package var color: PixelColor

    /// A transition of these.
    package init(_ kind: Kind, easing: Easing = .linear, color: PixelColor = .black) {
        (self.kind, self.easing, self.color) = (kind, easing, color)
    }
}

/// How a transition's progress goes with time.
package enum Easing: String, Sendable, Hashable, Codable, CaseIterable {
    /// Evenly.
    case linear
    /// Slowly at first and at last.
    case inOut = "in-out"
    /// Slowly at last.
    case out

    /// The progress, 0 to 1, at `time`, 0 to 1: both ends stay, and it never goes back.
    package func progress(at time: Double) -> Double {
        let t = min(1, max(0, time))
        return switch self {
        case .linear: t
        case .inOut: t * t * (3 - 2 * t)
        case .out: 1 - (1 - t) * (1 - t) * (1 - t)
        }
    }
}

extension Easing {
    package init(from decoder: any Decoder) throws { try self.init(decoding: decoder, kind: "easing") }
}
