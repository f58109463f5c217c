// SPDX-License-Identifier: Apache-2.0

package import Media
internal import Synchronization

/// An image over all that the program shows, with the scenes that name it or because an operator said so. It comes and goes
/// by itself: a scene that follows another one that has it, too, leaves it standing. All calls may come from any thread.
package final class Overlay: Sendable {
    /// What an operator said of it, and from which frame on.
    private struct Choice {
        let isVisible: Bool?
        let frames: Int64
        let frame: FrameIndex
    }

    private struct State {
        var art: OverlayArt
        /// What was said last; nil for what the scenes say.
        var said: Bool?
        /// What holds on air.
        var choice: Bool?
        var waiting: [Choice] = []
        /// Until where it fades because of what was said, whatever the scenes do.
        var fadeEnd: FrameIndex?
        var fader = OverlayFader()
    }

    /// How many changes may wait for their frames.
    package static let mostChoices = 64

    /// What scenes call it.
    package let name: String
    private let state: Mutex<State>

    /// An overlay that looks like `art`. Whether it is seen is a matter of scenes, unless `isVisible` says it.
    package init(_ name: String, _ art: OverlayArt, isVisible: Bool? = nil) {
        self.name = name
        state = Mutex(State(art: art, said: isVisible, choice: isVisible))
    }

    /// What was said last of whether it is seen; nil for what the scenes say.
    package var choice: Bool? { state.withLock { $0.said } }

    /// Whether it is seen in the frame under way.
    package var isSeen: Bool { state.withLock { $0.fader.level > 0 } }

    /// Makes it look otherwise from the next frame on.
    package func draw(as art: OverlayArt) { state.withLock { $0.art = art } }

    /// Shows it (or hides it, or leaves that to the scenes again) from frame `frame` of the program on, faded over so many
    /// frames; with `art` it looks so from the next frame on. False, and nothing is changed, if too many changes wait already.
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

    /// How much of it is seen at frame `index`, from 0 to 1, and what; nil if nothing is. `isNamed` says whether the scene has
    /// it, and `frames` how many frames the change to that scene still has, this one among them: none after a cut. What an
    /// operator faded fades as long as they said. Each frame is asked for once.
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

/// How much of an overlay is seen: it goes evenly from what is to what is to be. As in a transition, the first frame shows
/// something of it already, and the last one not all of it.
struct OverlayFader {
    private(set) var level = 0.0
    private var last: FrameIndex?

    /// The level at frame `index`, of which `frames` are left until it is there; none for at once.
    mutating func level(at index: FrameIndex, isOn: Bool, within frames: Int64) -> Double {
        let elapsed = last.map { Double(max(1, index - $0)) }
        last = index
        let target = isOn ? 1.0 : 0.0
        // What is there when a program begins is not faded in.
        if let elapsed, frames > 0 {
            level += (target - level) * elapsed / (Double(frames) + elapsed)
        } else {
            level = target
        }
        return level
    }
}
