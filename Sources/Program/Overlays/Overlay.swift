// SPDX-License-Identifier: Apache-2.0

package import Media
internal import Synchronization

/// A graphic in front of the program's video, such as a logo or a text. It is visible while the scene on air names it,
/// unless an operator shows or hides it. It fades in and out by itself. If the next scene names the overlay, too, it
/// remains visible during the transition. Any thread may use it.
package final class Overlay: Sendable {
    /// An operator's choice of visibility, the number of frames of its fade, and the program frame from which on it
    /// applies.
    private struct Choice {
        let isVisible: Bool?
        let frames: Int64
        let frame: FrameIndex
    }

    private struct State {
        var art: OverlayArt
        /// The operator's last choice, which may apply only later; at first the choice given to `init`. Nil leaves the
        /// visibility to the scenes.
        var said: Bool?
        /// The choice that applies now.
        var choice: Bool?
        var waiting: [Choice] = []
        /// The frame at which a fade that an operator has started is complete; nil without such a fade.
        var fadeEnd: FrameIndex?
        var fader = OverlayFader()
    }

    /// The maximum number of choices that wait for their frames.
    package static let mostChoices = 64

    /// The name by which scenes refer to the overlay.
    package let name: String
    private let state: Mutex<State>

    /// Creates an overlay with the appearance `art`. The scenes decide whether it is visible, unless `isVisible` is
    /// given.
    package init(_ name: String, _ art: OverlayArt, isVisible: Bool? = nil) {
        self.name = name
        state = Mutex(State(art: art, said: isVisible, choice: isVisible))
    }

    /// The operator's last choice of visibility, at first the choice given to `init`; nil leaves the visibility to the
    /// scenes.
    package var choice: Bool? { state.withLock { $0.said } }

    /// Whether the overlay is visible in the current frame, at least partly.
    package var isSeen: Bool { state.withLock { $0.fader.level > 0 } }

    /// Changes the overlay's appearance from the next frame on.
    package func draw(as art: OverlayArt) { state.withLock { $0.art = art } }

    /// From program frame `frame` on, shows the overlay (`isVisible` true), hides it (false), or leaves its visibility
    /// to the scenes (nil), with a fade of `frames` frames. If `art` is given, the overlay has this appearance from the
    /// next frame on. Returns false and changes nothing if too many choices wait for their frames.
    package func show(_ isVisible: Bool?, frames: Int64, at frame: FrameIndex, as art: OverlayArt? = nil) -> Bool {
        state.withLock { state in
            state.waiting.removeAll { $0.frame == frame }
            guard state.waiting.count < Self.mostChoices else { return false }
            state.waiting.append(Choice(isVisible: isVisible, frames: frames, frame: frame))
            state.waiting.sort { $0.frame < $1.frame }
            state.said = isVisible
            if let art { state.art = art }
            return true
        }
    }

    /// Returns the overlay's opacity at frame `index`, from 0 to 1, and its appearance; nil if it is invisible.
    /// `isNamed` says whether the scene on air names the overlay. `frames` is how many frames of the transition to this
    /// scene are left, this frame included; 0 if no transition is running. A fade that an operator has started keeps
    /// its own length instead. Must be called once per frame.
    func look(at index: FrameIndex, isNamed: Bool, frames: Int64) -> (level: Double, art: OverlayArt)? {
        state.withLock { state in
            while let next = state.waiting.first, next.frame <= index {
                (state.choice, state.fadeEnd) = (next.isVisible, index + next.frames)
                state.waiting.removeFirst()
            }
            if let end = state.fadeEnd, end < index { state.fadeEnd = nil }
            let rest = state.fadeEnd.map { $0 - index } ?? frames
            let level = state.fader.level(at: index, isOn: state.choice ?? isNamed, within: rest)
            return level > 0 ? (level, state.art) : nil
        }
    }
}

/// Fades an overlay in or out linearly. As in a transition, the first frame of a fade-in already shows the overlay a
/// little, and the last frame does not show it completely yet.
struct OverlayFader {
    private(set) var level = 0.0
    private var last: FrameIndex?

    /// Returns the opacity at frame `index`. `isOn` says whether the overlay fades in or out, and `frames` how many
    /// frames of the fade are left; with 0, the overlay appears or disappears at once.
    mutating func level(at index: FrameIndex, isOn: Bool, within frames: Int64) -> Double {
        let elapsed = last.map { Double(max(1, index - $0)) }
        last = index
        let target = isOn ? 1.0 : 0.0
        // The overlay fades unless this is the program's first frame: an overlay that is visible when the program
        // begins is not faded in.
        if let elapsed, frames > 0 {
            level += (target - level) * elapsed / (Double(frames) + elapsed)
        } else {
            level = target
        }
        return level
    }
}
