// SPDX-License-Identifier: Apache-2.0

package import Media
internal import Synchronization

/// An image over the whole program, which is shown by the scenes that name it or by an operator. It fades in and out by
/// itself; if the next scene names it too, it remains visible. Any thread may use it.
package final class Overlay: Sendable {
    /// An operator's choice, and the frame from which it applies.
    private struct Choice {
        let isVisible: Bool?
        let frames: Int64
        let frame: FrameIndex
    }

    private struct State {
        var art: OverlayArt
        /// The operator's last choice; nil leaves the visibility to the scenes.
        var said: Bool?
        /// The choice that applies now on air.
        var choice: Bool?
        var waiting: [Choice] = []
        /// The last frame of a fade that an operator has started, which does not depend on the scenes.
        var fadeEnd: FrameIndex?
        var fader = OverlayFader()
    }

    /// The maximum number of changes that wait for their frames.
    package static let mostChoices = 64

    /// The overlay's name in scenes.
    package let name: String
    private let state: Mutex<State>

    /// An overlay with the appearance `art`. The scenes determine whether it is visible, unless `isVisible` is set.
    package init(_ name: String, _ art: OverlayArt, isVisible: Bool? = nil) {
        self.name = name
        state = Mutex(State(art: art, said: isVisible, choice: isVisible))
    }

    /// The operator's last choice of visibility; nil leaves it to the scenes.
    package var choice: Bool? { state.withLock { $0.said } }

    /// Whether the overlay is visible in the current frame.
    package var isSeen: Bool { state.withLock { $0.fader.level > 0 } }

    /// Changes the overlay's appearance from the next frame on.
    package func draw(as art: OverlayArt) { state.withLock { $0.art = art } }

    /// Shows the overlay, hides it, or leaves its visibility to the scenes again (nil), from program frame `frame` on,
    /// with a fade of `frames` frames. `art` changes its appearance from the next frame on. Returns false and changes
    /// nothing if too many changes are waiting.
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
    /// `isNamed` says whether the scene names the overlay. `frames` is the number of frames that are left of the change
    /// to that scene, including this one, and 0 after a cut. A fade that an operator has started keeps its own length.
    /// Must be called once per frame.
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

/// Fades an overlay linearly. As in a transition, the first frame already shows the overlay a little, and the last
/// frame does not show it completely.
struct OverlayFader {
    private(set) var level = 0.0
    private var last: FrameIndex?

    /// Returns the level at frame `index`, if `frames` frames are left until the target is reached; 0 means a cut.
    mutating func level(at index: FrameIndex, isOn: Bool, within frames: Int64) -> Double {
        let elapsed = last.map { Double(max(1, index - $0)) }
        last = index
        let target = isOn ? 1.0 : 0.0
        // An overlay that is visible when the program begins is not faded in.
        if let elapsed, frames > 0 {
            level += (target - level) * elapsed / (Double(frames) + elapsed)
        } else {
            level = target
        }
        return level
    }
}
