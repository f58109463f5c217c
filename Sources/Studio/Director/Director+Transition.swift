// SPDX-License-Identifier: Apache-2.0

internal import Kernels
internal import Media
internal import Program

extension Director {
    /// A transition with the appearance, color and length that it has in this program.
    struct ResolvedTransition {
        /// The transition's name in logs and events.
        var kind: String
        var look: Transition
        /// `color` is the requested color of the transition, and `stinger` the requested stinger.
        var color: RGBColor?
        var stinger: StingerReel?
        /// The transition's length, in frames of the program.
        var frames: Int64

        static let cut = ResolvedTransition(kind: "cut", look: Transition(.cut), frames: 0)

        init(kind: String, look: Transition, color: RGBColor? = nil, frames: Int64) {
            (self.kind, self.look, self.color, self.frames) = (kind, look, color, frames)
        }

        init(kind: String, look: Transition, stinger: StingerReel) {
            (self.kind, self.look, self.stinger, frames) = (kind, look, stinger, stinger.frames)
        }
    }

    func transition(_ request: TransitionRequest?) throws(Refusal) -> ResolvedTransition {
        guard let request else { return .cut }
        if let name = request.stinger {
            return ResolvedTransition(kind: request.word, look: Transition(.cut), stinger: try stinger(name))
        }
        let seconds = request.seconds ?? 1
        guard (0...TransitionRequest.longest).contains(seconds) else {
            throw Refusal(.unusable, "A transition lasts 0 to \(Int(TransitionRequest.longest)) s.")
        }
        let frames = Int64((seconds * format.frameRate.value).rounded())
        return ResolvedTransition(
            kind: request.word, look: look(request.type, request.easing ?? .linear, request.color),
            color: request.color, frames: request.type == .cut ? 0 : frames)
    }

    /// Returns a transition whose color is converted to the color format of this program; no color means black.
    func look(_ kind: Transition.Kind, _ easing: Easing, _ color: RGBColor?) -> Transition {
        Transition(kind, easing: easing, color: PixelColor(color ?? .black, in: format.color))
    }

    private func stinger(_ name: String) throws(Refusal) -> StingerReel {
        if let stinger = stingers.first(where: { $0.name == name }) { return stinger }
        let known = stingers.isEmpty ? "There is none." : "There are \(stingers.map(\.name).joined(separator: ", "))."
        throw Refusal(.unusable, "There is no stinger \(name). \(known)")
    }
}
