// SPDX-License-Identifier: Apache-2.0

internal import Kernels
internal import LibAV
package import Media
internal import Program
internal import Synchronization

// MARK: Requests

extension Director {
    /// How far ahead a change can be scheduled, in seconds.
    private static let farthest = 3600.0
    /// The maximum number of scheduled changes.
    private static let mostChanges = 64

    /// Puts a scene on air, by a cut unless the request contains a transition. Returns the frame at which the change
    /// begins.
    package func put(_ request: ProgramRequest) throws(Refusal) -> Int64 {
        guard let choice = request.scene else { throw Refusal(.malformed, "The body lacks scene.") }
        let (scene, transition) = (try named(choice), try transition(request.transition))
        let latest = bus.nextFrame + Int64(Self.farthest * format.frameRate.value)
        if let frame = request.at, !(0...latest.number).contains(frame) {
            throw Refusal(.unusable, "at is the number of a frame, from 0 to an hour ahead: \(latest.number).")
        }
        let next = bus.nextFrame
        let waiting = state.withLock { state in state.changes.count { $0.frame > next } }
        guard waiting < Self.mostChanges else {
            throw Refusal(.tooMany, "\(Self.mostChanges) changes wait for their frames already.")
        }
        return show(by: transition, at: request.at.map { FrameIndex($0) }) { _ in scene }
    }

    /// Puts a scene into the preview, sets the transition that `auto` uses, or both.
    package func prepare(_ request: ProgramRequest) throws(Refusal) {
        let scene = try request.scene.map { (choice) throws(Refusal) in try named(choice) }
        _ = try transition(request.transition)
        guard request.at == nil else { throw Refusal(.unusable, "at is for the program: the preview changes at once.") }
        state.withLock { state in
            if let scene { state.preview = scene }
            if let transition = request.transition { state.transition = transition }
        }
    }

    /// Puts the preview on air by a cut, and the previous scene into the preview, unless that scene contains the file
    /// of a run-down's segment. Returns the frame at which the change begins.
    package func take() throws(Refusal) -> Int64 { try swap(by: .cut) }

    /// Does the same as ``take()``, but by the transition that was set for `auto`.
    package func auto() throws(Refusal) -> Int64 {
        let transition = try transition(state.withLock { $0.transition })
        return try swap(by: transition)
    }

    /// The current frame of a source, as a JPEG file with this width. Blocks while the frame is scaled and compressed.
    package func snapshot(of name: String, width: Int) throws(Refusal) -> [UInt8] {
        let source = try source(name, otherwise: .notFound)
        guard source.hasVideo else { throw Refusal(.conflict, "The source \(name) has no video.") }
        guard let frame = source.bus.thumbnail(width: width) else {
            throw Refusal(.conflict, "The source \(name) shows nothing yet.")
        }
        do throws(AVFailure) {
            // The size of the program decides about colors that are not specified, and not that of the small image.
            let color = format.color.resolved(width: format.width, height: format.height)
            return try Snapshot.jpeg(of: frame, color: color)
        } catch {
            throw Refusal(.conflict, "The source \(name) cannot be shown as an image: \(error)")
        }
    }

    /// Changes the settings of the source `name`.
    package func change(_ name: String, _ request: SourceRequest) throws(Refusal) {
        let source = try source(name, otherwise: .notFound)
        if let gain = request.gain, !Fader.gains.contains(gain) {
            throw Refusal(.unusable, "gain is from -60 to 20 dB.")
        }
        if let offset = request.audioOffset { try check(offset: offset, of: source) }
        try play(source, request)
        source.bus.fader.change { settings in
            if let gain = request.gain { settings.gain = gain }
            if let isMuted = request.muted { settings.isMuted = isMuted }
            if let offset = request.audioOffset { settings.offset = offset }
        }
    }

    private func check(offset: Double, of source: Source) throws(Refusal) {
        guard (Fader.earliest...Fader.latest).contains(offset) else {
            throw Refusal(.unusable, "audioOffset is from \(Fader.earliest) to \(Int(Fader.latest)) s.")
        }
        guard let most = source.bus.mostAhead, -offset > most else { return }
        let text = (most * 1000).rounded(.down) / 1000
        throw Refusal(
            .unusable,
            "The audio of \(source.name) can be \(text) s earlier, half of what is buffered of it: a longer latency= of "
                + "its input allows more.")
    }

    /// Puts the preview on air, and the previous scene into the preview. If the previous scene contains the file of a
    /// run-down's segment, it can be shown again only by resuming the run-down, so the preview does not change.
    private func swap(by transition: ResolvedTransition) throws(Refusal) -> Int64 {
        try check(state.withLock { $0.preview.layout })
        return show(by: transition, at: nil) { state in
            let (now, preview) = (onAir(&state).now, state.preview)
            if now.clip == nil { state.preview = now.scene }
            return preview
        }
    }

    private func named(_ choice: ProgramRequest.SceneChoice) throws(Refusal) -> Named {
        let found: Named
        switch choice {
        case .laidOut(let layout): found = Named(layout: layout)
        case .named(let name):
            if let scene = scenes.first(where: { $0.name == name }) {
                found = Named(layout: scene.layout, name: name)
            } else if name == SceneLayout.Kind.slate.rawValue {
                found = Named(layout: SceneLayout(.slate, []))
            } else if sources.contains(where: { $0.name == name }) {
                found = Named(layout: SceneLayout(.single, [name]))
            } else {
                let known = scenes.map(\.name) + sources.map(\.name) + ["slate"]
                throw Refusal(.unusable, "There is no scene \(name). There are \(known.joined(separator: ", ")).")
            }
        }
        try check(found.layout)
        return found
    }
}

// MARK: Transitions

extension Director {
    /// A transition with the appearance, color and length that it has in this program.
    struct ResolvedTransition {
        var name: TransitionName
        var look: Transition
        /// `color` is the requested color of the transition, and `stinger` the requested stinger.
        var color: RGBColor?
        var stinger: StingerReel?
        /// The transition's length, in frames of the program.
        var frames: Int64

        static let cut = ResolvedTransition(name: .kind(.cut), look: Transition(.cut), frames: 0)

        init(name: TransitionName, look: Transition, color: RGBColor? = nil, frames: Int64) {
            (self.name, self.look, self.color, self.frames) = (name, look, color, frames)
        }

        init(name: TransitionName, look: Transition, stinger: StingerReel) {
            (self.name, self.look, self.stinger, frames) = (name, look, stinger, stinger.frames)
        }
    }

    func transition(_ request: TransitionRequest?) throws(Refusal) -> ResolvedTransition {
        guard let request else { return .cut }
        if let name = request.stinger {
            return ResolvedTransition(name: request.name, look: Transition(.cut), stinger: try stinger(name))
        }
        let seconds = request.seconds ?? 1
        guard (0...TransitionRequest.longest).contains(seconds) else {
            throw Refusal(.unusable, "A transition lasts 0 to \(Int(TransitionRequest.longest)) s.")
        }
        let frames = Int64((seconds * format.frameRate.value).rounded())
        return ResolvedTransition(
            name: request.name, look: look(request.type, request.easing ?? .linear, request.color),
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
