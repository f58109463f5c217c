// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Catalogue
internal import Media

extension ClipStore {
    /// The properties of a clip besides its frames.
    struct Facts {
        let rate: FrameRate
        let start: Int64
        var name: String?
        var pressed: UTCTime?
        var released: Int64?
        var audioOffset: Int64?
        var job: String?
    }

    struct State {
        var machine = ClipMachine()
        var facts: [String: Facts] = [:]
        var isLoaded = false
        /// Clips whose files are all deleted. `lookedForFiles` is the time of the last check.
        var gone: Set<String> = []
        var lookedForFiles: ContinuousClock.Instant?
    }
}

extension ClipStore.State {
    /// The clip's row in the catalogue.
    func row(_ id: String, channel: String) -> CatalogueClip? {
        guard let clip = machine.clip(id), let facts = facts[id] else { return nil }
        var row = CatalogueClip(
            clip, channel: channel, rate: facts.rate, start: facts.start, name: facts.name)
        (row.released, row.audioOffset) = (facts.released, facts.audioOffset)
        return row
    }

    /// The clip as the API reports it.
    func shown(_ clip: ClipMachine.Clip, _ now: [ClipStore.Recorded]) -> RecordedClip? {
        guard let facts = facts[clip.id] else { return nil }
        let newest = now.first { $0.program.run == clip.run }?.program.frames.upperBound
        let frames = max(0, (clip.end ?? newest ?? clip.first) - clip.first)
        let base = facts.rate.timeBase
        func seconds(_ frames: Int64) -> Double { Double(base.rescale(frames, to: .nanoseconds)) / 1e9 }
        let state: RecordedClip.State =
            if !clip.isComplete {
                clip.end == nil ? .running : .ending
            } else {
                frames == 0 ? .empty : gone.contains(clip.id) ? .gone : .done
            }
        var shown = RecordedClip(
            id: clip.id, name: facts.name, state: state, start: UTCTime(milliseconds: facts.start).extended,
            programSeconds: seconds(clip.first), durationSeconds: seconds(frames), frames: frames)
        shown.pressed = facts.pressed?.extended
        if clip.lacking > 0 { shown.lackingSeconds = seconds(clip.lacking) }
        shown.audioOffsetSeconds = facts.audioOffset.map { Double($0) / 1e9 }
        shown.isHeld = facts.released == nil
        shown.export = facts.job
        return shown
    }
}
