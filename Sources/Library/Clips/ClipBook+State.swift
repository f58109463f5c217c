// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Catalogue
internal import Media

extension ClipBook {
    /// What is known of a clip besides its frames.
    struct Details {
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
        var details: [String: Details] = [:]
        var isLoaded = false
        /// Clips of whose frames no file is left, and when that was looked at.
        var gone: Set<String> = []
        var lookedForFiles: ContinuousClock.Instant?
    }
}

extension ClipBook.State {
    /// As the catalogue has it.
    func row(_ id: String, channel: String) -> CatalogueClip? {
        guard let clip = machine.clip(id), let details = details[id] else { return nil }
        var row = CatalogueClip(
            clip, channel: channel, rate: details.rate, start: details.start, name: details.name)
        (row.released, row.audioOffset) = (details.released, details.audioOffset)
        return row
    }

    /// As the API shows it.
    func shown(_ clip: ClipMachine.Clip, _ now: [ClipBook.Recorded]) -> RecordedClip? {
        guard let details = details[clip.id] else { return nil }
        let newest = now.first { $0.program.run == clip.run }?.program.frames.upperBound
        let frames = max(0, (clip.end ?? newest ?? clip.first) - clip.first)
        let base = details.rate.timeBase
        func seconds(_ frames: Int64) -> Double { Double(base.rescale(frames, to: .nanoseconds)) / 1e9 }
        let state: RecordedClip.State =
            if !clip.isComplete {
                clip.end == nil ? .running : .ending
            } else {
                frames == 0 ? .empty : gone.contains(clip.id) ? .gone : .done
            }
        var shown = RecordedClip(
            id: clip.id, name: details.name, state: state, start: UTCTime(milliseconds: details.start).extended,
            programSeconds: seconds(clip.first), durationSeconds: seconds(frames), frames: frames)
        shown.pressed = details.pressed?.extended
        if clip.lacking > 0 { shown.lackingSeconds = seconds(clip.lacking) }
        shown.audioOffsetSeconds = details.audioOffset.map { Double($0) / 1e9 }
        shown.isHeld = details.released == nil
        shown.export = details.job
        return shown
    }
}
