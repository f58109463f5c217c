// SPDX-License-Identifier: Apache-2.0

package import Media
internal import Synchronization

/// An image over the whole program, shown by the scenes that name it or by an operator. It fades in and out by itself:
/// if the next scene names it too, it stays. Any thread may use it.
package final class Overlay: Sendable {
    /// An operator's choice, and the frame from which it applies.
    private struct Choice {
        let isVisible: Bool?
        let frames: Int64
        let frame: FrameIndex
    }

    private struct State {
        var art: OverlayArt
        /// The operator's last choice; nil leaves it to the scenes.
        var said: Bool?
        /// The choice that is in force on air.
        var choice: Bool?
        var waiting: [Choice] = []
        /// The last frame of an operator's fade, which does not depend on the scenes.
        var fadeEnd: FrameIndex?
        var fader = OverlayFader()
    }

    /// How many changes may wait for their frames.
    package static let mostChoices = 64

    /// Its name in scenes.
    package let name: String
    private let state: Mutex<State>

    /// An overlay that looks like `art`. The scenes decide whether it is visible, unless `isVisible` is set.
    package init(_ name: String, _ art: OverlayArt, isVisible: Bool? = nil) {
        self.name = name
        state = Mutex(State(art: art, said: isVisible, choice: isVisible))
    }

    /// The operator's last choice of visibility; nil leaves it to the scenes.
    package var choice: Bool? { state.withLock { $0.said } }

    /// Whether it is visible in the current frame.
    package var isSeen: Bool { state.withLock { $0.fader.level > 0 } }

    /// Changes its look from the next frame on.
    package func draw(as art: OverlayArt) { state.withLock { $0.art = art } }

    /// Shows it, hides it, or leaves that to the scenes again (nil), from program frame `frame` on, with a fade of
    /// `frames` frames; `art` changes its look from the next frame on. Returns false and changes nothing if too many
    /// changes are waiting.
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

    /// Returns its opacity at frame `index`, from 0 to 1, and its look; nil if it is invisible. `isNamed` says whether
    /// the scene names it, and `frames` how many frames are left of the change to that scene, including this one: 0
    /// after a cut. An operator's fade keeps its own length. Must be called once per frame.
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

/// Fades an overlay linearly. As in a transition, the first frame already shows some of it, and the last one does not
/// show all of it.
struct OverlayFader {
    private(set) var level = 0.0
    private var last: FrameIndex?

    /// Returns the level at frame `index`, when `frames` frames are left until the target is reached; 0 for a cut.
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
