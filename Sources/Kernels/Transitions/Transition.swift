// SPDX-License-Identifier: Apache-2.0

internal import Media

/// How one frame changes to another.
package struct Transition: Sendable, Hashable {
    /// The visible effect. `a` is the old frame, and `b` the new one. "Left" and similar words are the direction of
    /// motion. If FFmpeg's filter `xfade` has the same effect, its name there is given.
    package enum Kind: String, Sendable, Hashable, Codable, CaseIterable {
        /// `b` appears at once.
        case cut
        /// Sources move and change size, from their placements in the old scene to those in the new scene. Each frame
        /// of the transition is composed from the sources. If there are only two finished frames, the effect is
        /// ``fade``.
        case move
        /// A linear mix of `a` and `b`: xfade's `fade`.
        case fade
        /// `b` replaces `a` pixel by pixel, in a fixed random order: xfade's `dissolve`.
        case dissolve
        /// `b` moves in over `a`, which does not move.
        case slideLeft = "slide-left"
        /// Like ``slideLeft``, but to the right.
        case slideRight = "slide-right"
        /// Like ``slideLeft``, but upwards.
        case slideUp = "slide-up"
        /// Like ``slideLeft``, but downwards.
        case slideDown = "slide-down"
        /// `b` moves in and pushes `a` out: xfade's `slideleft`.
        case pushLeft = "push-left"
        /// Like ``pushLeft``, to the right: xfade's `slideright`.
        case pushRight = "push-right"
        /// Like ``pushLeft``, upwards: xfade's `slideup`.
        case pushUp = "push-up"
        /// Like ``pushLeft``, downwards: xfade's `slidedown`.
        case pushDown = "push-down"
        /// Neither frame moves; the edge between `a` and `b` moves to the left: xfade's `wipeleft`.
        case wipeLeft = "wipe-left"
        /// Like ``wipeLeft``, to the right: xfade's `wiperight`.
        case wipeRight = "wipe-right"
        /// Like ``wipeLeft``, upwards: xfade's `wipeup`.
        case wipeUp = "wipe-up"
        /// Like ``wipeLeft``, downwards: xfade's `wipedown`.
        case wipeDown = "wipe-down"
        /// `a` grows from its center and fades to `b`.
        case zoomIn = "zoom-in"
        /// `b` appears enlarged and shrinks to its size: ``zoomIn`` in reverse.
        case zoomOut = "zoom-out"
        /// A card with `a` on its front turns about its vertical axis and shows `b` on its back. The background is
        /// ``Transition/color``.
        case flipHorizontal = "flip-horizontal"
        /// Like ``flipHorizontal``, but the card turns about its horizontal axis.
        case flipVertical = "flip-vertical"
        /// `b` appears in a circle that grows from the center.
        case circle
        /// `a` is blurred, fades to `b`, and `b` becomes sharp.
        case blur
        /// `a` fades to a color, and the color to `b`.
        case dip

        /// Whether the transition uses ``Transition/color``.
        package var hasColor: Bool {
            switch self {
            case .dip, .flipHorizontal, .flipVertical: true
            default: false
            }
        }

        /// Reads the name of a kind; `flip`, `slide`, `push`, `wipe` and `zoom` without a direction are accepted, too.
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

    /// The visible effect.
    package var kind: Kind
    /// How the progress depends on time.
    package var easing: Easing
    /// The color of ``Kind/dip``, and the background of a turning card.
    package var color: PixelColor

    package init(_ kind: Kind, easing: Easing = .linear, color: PixelColor = .black) {
        (self.kind, self.easing, self.color) = (kind, easing, color)
    }
}

/// How a transition's progress depends on time.
package enum Easing: String, Sendable, Hashable, Codable, CaseIterable {
    /// Constant speed.
    case linear
    /// Slow at the start and at the end.
    case inOut = "in-out"
    /// Slow at the end.
    case out

    /// Returns the progress, from 0 to 1, at `time`, from 0 to 1. The progress is 0 at time 0 and 1 at time 1, and
    /// never decreases.
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
