// SPDX-License-Identifier: Apache-2.0

internal import Catalogue
internal import Kernels
internal import Media
internal import Program
internal import Synchronization

extension Director {
    /// The last scene change that was reported to a recording.
    struct Told: Equatable {
        let recording: ObjectIdentifier
        let frame: FrameIndex
    }

    /// Reports to the recording the scene that goes on air with `frame`, the next frame. If the recording has just
    /// begun, it gets the scene that is already on air. Runs on the program's thread.
    func tellRecording(_ frame: FrameIndex) {
        guard let recording = recording() else {
            // Forget the recording, because a later recording object may have the same address in memory.
            state.withLock { $0.told = nil }
            return
        }
        let event = state.withLock { state -> SceneEvent? in
            guard let change = state.changes.last(where: { $0.frame <= frame }) else { return nil }
            let (now, before) = (Told(recording: ObjectIdentifier(recording), frame: change.frame), state.told)
            guard now != before else { return nil }
            state.told = now
            let goesOn = before?.recording == now.recording
            return SceneEvent(
                name: change.scene.name, layout: change.scene.layout.layout.rawValue,
                sources: change.scene.layout.sources, frame: goesOn ? change.frame.number : frame.number,
                run: recording.run, transition: goesOn ? change.kind : "cut",
                seconds: goesOn ? length(of: change) : nil,
                details: details(of: change, at: frame, withWay: goesOn))
        }
        if let event { recording.record(event) }
    }

    /// The details that a run-down needs to show the same scene again; `frame` is the frame at which the change is
    /// reported.
    private func details(of change: Change, at frame: FrameIndex, withWay: Bool) -> [String] {
        var details = change.scene.layout.details
        if let overlays = change.scene.layout.overlays, !overlays.isEmpty {
            details.append(SceneEvent.detail("overlays", overlays.joined(separator: "+")))
        }
        if withWay, change.frames > 0, change.easing != .linear {
            details.append(SceneEvent.detail("easing", change.easing.rawValue))
        }
        if withWay, change.frames > 0, let color = change.color {
            details.append(SceneEvent.detail("color", "\(color)"))
        }
        let audio = change.audio ?? audio.text
        if audio != AudioChoice.follow.text { details.append(SceneEvent.detail("audio", audio)) }
        if let clip = change.clip {
            let since = withWay ? 0 : max(0, frame - change.frame)
            let position = clip.start + format.frameRate.timeBase.duration(since)
            details.append(SceneEvent.detail("file", clip.path))
            details.append(SceneEvent.detail("in", "\(DecimalSeconds(position))s"))
        }
        return details
    }

    /// The length of the transition to a scene, in seconds; nil for a cut.
    private func length(of change: Change) -> Double? {
        change.frames > 0 ? format.frameRate.timeBase.duration(change.frames).inSeconds : nil
    }
}
