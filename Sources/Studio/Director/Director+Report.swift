// SPDX-License-Identifier: Apache-2.0

internal import Catalogue
internal import Kernels
package import Media
internal import Program
internal import Status
internal import Synchronization

extension Director {
    /// A snapshot of the program.
    package var report: ProgramReport {
        let next = bus.nextFrame
        let (change, before, preview, transition, waiting) = state.withLock { state in
            let (now, before) = onAir(&state)
            return (now, before, state.preview, state.transition, state.changes.filter { $0.frame > next })
        }
        let seen = ([change] + before).flatMap(\.scene.layout.sources)
        var report = ProgramReport(
            frame: next.number, scene: change.scene.layout, preview: preview.layout, transition: transition,
            audioFrom: audio.text,
            sources: sources.map { self.report(of: $0, seen: seen, preview: preview.layout.sources) },
            scenes: scenes.map(\.name))
        report.levels = bus.meter.levels
        (report.sceneName, report.previewName) = (change.scene.name, preview.name)
        (report.overlays, report.stingers) = (overlays.reports, stingers.map(\.name))
        report.changes = waiting.map { change in
            ProgramReport.Change(frame: change.frame.number, scene: change.scene.layout, sceneName: change.scene.name)
        }
        report.runDown = runDownStatus(withSegments: false)
        if !before.isEmpty { report.progress = Double(max(0, next - change.frame)) / Double(change.frames) }
        return report
    }

    /// The names of the sources that are visible, including those that are visible only during a transition.
    package var seen: [String] {
        state.withLock { state in
            let (now, before) = onAir(&state)
            return ([now] + before).flatMap(\.scene.layout.sources)
        }
    }

    /// The peaks of the sources without video, in dBFS, by source name.
    package var heardLevels: [String: [Double]] {
        Dictionary(sources.filter { !$0.hasVideo }.map { ($0.name, $0.bus.meter.levels) }) { first, _ in first }
    }

    private func report(of source: Source, seen: [String], preview: [String]) -> ProgramReport.Source {
        let settings = source.bus.fader.settings
        var report = ProgramReport.Source(
            name: source.name, hasVideo: source.hasVideo, input: source.input(),
            isOnAir: seen.contains(source.name), isInPreview: preview.contains(source.name), gain: settings.gain,
            isMuted: settings.isMuted, audioOffset: settings.offset, levels: source.bus.meter.levels)
        report.whenOff = source.file?.whenOff.rawValue
        report.problem = source.problem()
        let delivered = source.delivered?()
        (report.framesLate, report.framesDropped) = (delivered?.framesLate, delivered?.framesDropped)
        return report
    }

    /// Cancels the change that is scheduled for the program frame `frame`. Throws if there is no such change any more.
    package func withdraw(at frame: Int64) throws(Refusal) {
        let frame = FrameIndex(frame)
        let isDone = state.withLock { state in
            guard bus.withdraw(at: frame) else { return false }
            state.changes.removeAll { $0.frame == frame }
            state.desk?.withdraw(at: frame)
            return true
        }
        guard isDone else { throw Refusal(.notFound, "No change waits for frame \(frame.number).") }
    }

    /// Changes the overlay `name`. Returns the frame at which the change begins. Blocks while a text is drawn.
    package func changeOverlay(_ name: String, _ request: OverlayRequest) throws(Refusal) -> Int64 {
        try overlays.change(name, request, on: bus)
    }
}

// MARK: Files

extension Director {
    /// Carries out `request` on a source's file.
    func play(_ source: Source, _ request: SourceRequest) throws(Refusal) {
        guard request.seek != nil || request.restart == true else { return }
        guard let file = source.file else {
            throw Refusal(.unusable, "seek and restart are for files, and \(source.name) is not a file.")
        }
        let seconds = request.seek ?? 0
        guard seconds.isFinite, (0...Self.farthestSeek).contains(seconds) else {
            throw Refusal(.unusable, "seek is a time in the file, from 0 on, in seconds.")
        }
        try file.play(from: .nanoseconds(Int64(seconds * 1e9)))
    }

    private static let farthestSeek = 86_400.0 * 7

    /// Whether a source is visible, in the preview, or about to be visible. With `orHeard`, also whether it is audible
    /// or about to be audible.
    package func isWanted(_ name: String, orHeard: Bool) -> Bool {
        if orHeard, audio == .mix || audio == .source(name) { return true }
        return state.withLock { state in
            let changes = wanted(&state)
            // When a run-down has chosen the audio, that choice remains in effect even after the run-down has ended.
            if orHeard, changes.contains(where: { $0.audio == "mix" || $0.audio == name }) { return true }
            let layouts = changes.map(\.scene.layout) + [state.preview.layout]
            return layouts.contains { $0.sources.contains(name) } || state.desk?.shows(name, orPlays: orHeard) == true
        }
    }

    /// Whether the slate is on air. The slate is played only while it is on air, so that it begins with its first
    /// frame.
    var isSlateOnAir: Bool {
        state.withLock { state in
            let (now, before) = onAir(&state)
            return now.scene.layout.sources.isEmpty || before.contains { $0.scene.layout.sources.isEmpty }
        }
    }

    /// The change that is on air, the changes whose scenes a running transition replaces, and the scheduled changes.
    private func wanted(_ state: inout State) -> [Change] {
        let (now, before) = onAir(&state)
        return [now] + before + state.changes.filter { $0.frame > now.frame }
    }
}

extension RunDownState {
    /// Cancels the change that is scheduled for `frame`.
    mutating func withdraw(at frame: FrameIndex) {
        player.withdraw(at: frame)
        if formerChange == frame { (formerEnd, formerChange) = (nil, nil) }
    }

    /// Whether the run-down is running or held, and one of its segments shows this source; with `orPlays`, also whether
    /// one of them plays the source's audio.
    fileprivate func shows(_ name: String, orPlays: Bool) -> Bool {
        guard player.state == .running || player.state == .held else { return false }
        return player.runDown.segments.contains { segment in
            let isHeard = segment.audio == .source(name) || segment.audio == .mix
            return (orPlays && isHeard) || segment.views.contains { $0.layout.sources.contains(name) }
        }
    }
}

// MARK: Reports to recordings

extension Director {
    /// The last scene change that was reported to a recording.
    struct Told: Equatable {
        let recording: ObjectIdentifier
        let frame: FrameIndex
    }

    /// Reports to each recording the scene that goes on air with `frame`, the next frame. A recording that has just
    /// begun gets the scene that is already on air. Runs on the program's thread.
    func tellRecordings(_ frame: FrameIndex) {
        let recordings = recordings()
        let news = state.withLock { state -> [(recording: any SceneRecording, scene: SceneEvent)] in
            guard let change = state.changes.last(where: { $0.frame <= frame }) else { return [] }
            let now = recordings.map { Told(recording: ObjectIdentifier($0), frame: change.frame) }
            let before = state.told
            guard now != before else { return [] }
            // Recordings that have ended are forgotten, because a later recording object can have the same address in
            // memory.
            state.told = now
            return recordings.filter { recording in
                !before.contains(Told(recording: ObjectIdentifier(recording), frame: change.frame))
            }.map { recording in
                let goesOn = before.contains { $0.recording == ObjectIdentifier(recording) }
                return (recording, event(of: change, for: recording, at: frame, goesOn: goesOn))
            }
        }
        for (recording, scene) in news { recording.record(scene) }
    }

    /// Returns the event for `recording` of the scene of `change`. If the recording has just begun, `goesOn` is false,
    /// and the scene begins with `frame`.
    private func event(
        of change: Change, for recording: any SceneRecording, at frame: FrameIndex, goesOn: Bool
    ) -> SceneEvent {
        SceneEvent(
            name: change.scene.name, layout: change.scene.layout.layout.rawValue,
            sources: change.scene.layout.sources, frame: goesOn ? change.frame.number : frame.number,
            run: recording.run, transition: "\(goesOn ? change.transition : .kind(.cut))",
            seconds: goesOn ? length(of: change) : nil, details: details(of: change, at: frame, withWay: goesOn))
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
