// SPDX-License-Identifier: Apache-2.0

package import Catalogue
internal import Media
internal import Program
package import Stitcher
internal import Studio

/// The scenes that were on air in a program of several sources. They form a run-down that can be edited, and rendered
/// from the recordings of the sources. Uses neither clock nor disk.
package struct RecordedShow {
    /// One scene, and the number of frames for which it was on air.
    struct Part {
        let scene: SceneEvent
        let frames: Int64
    }

    /// One source, and its recording.
    struct Source {
        let name: String
        /// How much later than the show the recording of the source begins; nil if the source was not recorded.
        let lead: Duration?
    }

    /// The channel that had the scenes on air.
    package let channel: String
    /// A moment within the show's first frame and a moment within its last frame, in milliseconds since 1970.
    package let range: Range<Int64>
    let rate: FrameRate
    /// All sources that are visible or audible in the show, without the source of the audio if ``needsAudio`` is set.
    let sources: [Source]
    /// Whether the audio of the program's recording is needed, because the source of the audio was not recorded.
    let needsAudio: Bool
    let parts: [Part]

    /// Finds the scenes that were on air between `limits`, in milliseconds since 1970, in the program of `channel`, or
    /// in the program that has that channel as a source. If `channel` is nil, there must be only one program.
    package init(
        of segments: [CatalogueSegment], _ events: [CatalogueEvent], channel: String?, limits: Range<Int64>?
    ) throws(ClipFailure) {
        let told = try SceneChange.told(segments, events, channel: channel)
        let files = told.files
        // A client may give an end that is far in the future; the conversion below clamps it.
        let nanoseconds = { (time: Int64) in TimeBase.milliseconds.rescale(time, to: .nanoseconds) }
        let limits = limits.map { limits in
            let first = files.place(at: nanoseconds(limits.lowerBound))
            return first..<max(first, files.place(at: nanoseconds(limits.upperBound), roundedUp: true))
        }
        let shown = told.shown.compactMap { change -> (scene: SceneEvent, place: Range<Int64>)? in
            let seen = change.place.clamped(to: limits ?? change.place)
            let late = change.late + seen.lowerBound - change.place.lowerBound
            return seen.isEmpty
                ? nil : (late > 0 ? change.scene.goingOn(after: late, at: files.rate) : change.scene, seen)
        }
        guard let first = shown.first?.place.lowerBound, let end = shown.last?.place.upperBound, first < end else {
            throw ClipFailure("Nothing was on air in \(told.channel) then, as far as the catalogue says.")
        }
        (self.channel, rate) = (told.channel, files.rate)
        // The time between two runs of the recorder counts as part of the scene before it, because the exporter fills
        // that time, too.
        let starts = shown.map(\.place.lowerBound) + [end]
        let parts = zip(shown, zip(starts, starts.dropFirst())).compactMap { shown, frames in
            frames.0 < frames.1 ? Part(scene: shown.scene, frames: frames.1 - frames.0) : nil
        }
        self.parts = parts
        // The times in the middle of the first and of the last frame are used, because a time in milliseconds
        // identifies a frame only if it is well inside the frame.
        let moments = files.middle(of: first)..<max(files.middle(of: first), files.middle(of: end - 1))
        range = moments.lowerBound / 1_000_000..<moments.upperBound / 1_000_000
        let recorded = Self.recordings(segments, of: told)
        let names = Self.names(in: parts, recorded: Set(recorded.keys))
        needsAudio = names.contains(Self.audio) && recorded[Self.audio] == nil
        sources = names.subtracting(needsAudio ? [Self.audio] : []).sorted().map { name in
            let begins = recorded[name]?.filter { $0.upperBound > moments.lowerBound }.map(\.lowerBound).min()
            // If a recording begins before the show, its lead is 0, because the exporter cuts off the earlier part.
            let lead = begins.map { begins in
                begins > moments.lowerBound ? Duration.nanoseconds(begins - files.time(of: first)) : .zero
            }
            return Source(name: name, lead: begins ?? .max < moments.upperBound ? lead : nil)
        }
    }

    /// The name of the source of `--audio-input`.
    private static let audio = "audio"

    /// The times at which each source of the program was recorded, in nanoseconds since 1970.
    private static func recordings(
        _ segments: [CatalogueSegment], of told: SceneChange.Told
    ) -> [String: [Range<Int64>]] {
        var found: [String: [Range<Int64>]] = [:]
        // Recordings without video are left out, because they cannot be exported. The audio of the program's recording
        // replaces them.
        for segment in segments where segment.frames > 0 && segment.channel.hasPrefix("\(told.channel)-") {
            // The name of the source's run is the name of the program's run, followed by a number.
            guard let run = segment.run?.split(separator: ".").first, told.files.runNames.contains(String(run)) else {
                continue
            }
            let start = min(max(0, segment.start), 9_000_000_000_000) * 1_000_000
            let name = String(segment.channel.dropFirst(told.channel.count + 1))
            found[name, default: []].append(start..<start + min(max(0, segment.duration), 1 << 56))
        }
        return found
    }

    /// The names of the sources that are visible or audible in `parts`.
    private static func names(in parts: [Part], recorded: Set<String>) -> Set<String> {
        var names: Set<String> = []
        for part in parts {
            let hasFile = part.scene.hasFile(recorded)
            names.formUnion(part.scene.sources.filter { !hasFile || $0 != RunDown.clipName })
            switch part.scene.detail("audio") {
            case nil, "follow", RunDown.clipName: break
            case "mix": names.formUnion(recorded)
            case let name?: names.insert(name)
            }
        }
        return names
    }
}

extension SceneEvent {
    /// Returns the scene without its first `frames` frames: it begins with a cut, and its file begins at a later
    /// position.
    fileprivate func goingOn(after frames: Int64, at rate: FrameRate) -> SceneEvent {
        var later = SceneEvent(
            name: name, layout: layout, sources: sources, frame: frame + frames, run: run, transition: "cut",
            details: details.filter { word in !["easing=", "color=", "in="].contains(where: word.hasPrefix) })
        if let start = detail("in").flatMap({ try? DurationText(parsing: $0).duration }) {
            let position = DecimalSeconds(start + rate.timeBase.duration(frames))
            later.details.append(Self.detail("in", "\(position)s"))
        }
        return later
    }

    /// Whether the scene's source called `file` is the file of a run-down segment, and not a source of that name.
    /// `recorded` contains the names of the recorded sources.
    func hasFile(_ recorded: Set<String>) -> Bool {
        sources.contains(RunDown.clipName) && (detail("file") != nil || !recorded.contains(RunDown.clipName))
    }
}
