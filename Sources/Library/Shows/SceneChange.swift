// SPDX-License-Identifier: Apache-2.0

internal import Catalogue
internal import Stitcher

/// The change to a new scene in a program of several sources, as the catalogue recorded it.
struct SceneChange {
    let scene: SceneEvent
    /// The range of the ``ProgramFiles`` timeline from the change to the end of the recorder's run.
    var place: Range<Int64>
    /// The number of frames between the moment when the scene went on air and its first recorded frame.
    let late: Int64

    /// All changes of scenes in one program, read from the catalogue.
    struct Told {
        let channel: String
        let files: ProgramFiles
        /// The changes in the order in which they were recorded, even if the clock was changed.
        let changes: [SceneChange]
    }

    /// Returns all scenes that went on air in the program of `channel`, or in the program that has that channel as a
    /// source. Without `channel`, there must be only one program.
    static func told(
        _ segments: [CatalogueSegment], _ events: [CatalogueEvent], channel: String?
    ) throws(ClipFailure) -> Told {
        let told = events.filter { $0.kind == SceneEvent.kind }
        let channel = try program(of: channel, among: Set(told.map(\.channel)))
        let files = ProgramFiles(segments.filter { $0.channel == channel })
        let changes = told.filter { $0.channel == channel }.compactMap { event -> SceneChange? in
            guard let scene = event.scene,
                let place = files.place(
                    of: scene, toldAt: min(max(0, event.start), 9_000_000_000_000) * 1_000_000)
            else { return nil }
            return SceneChange(scene: scene, place: place.range, late: place.late)
        }
        return Told(channel: channel, files: files, changes: changes)
    }

    private static func program(of channel: String?, among programs: Set<String>) throws(ClipFailure) -> String {
        let fitting = programs.filter { program in
            channel.map { $0 == program || $0.hasPrefix("\(program)-") } ?? true
        }.sorted { $0.count > $1.count }
        guard let program = fitting.first else {
            throw ClipFailure("The catalogue says of no scene when it was on air.")
        }
        guard channel != nil || fitting.count == 1 else {
            throw ClipFailure(
                "Several channels have scenes; choose with --channel: \(programs.sorted().joined(separator: ", ")).")
        }
        return program
    }
}

extension SceneChange.Told {
    /// The changes in the order of their times. The range of each change ends at the next change of the same run of the
    /// recorder, or at the end of that run.
    ///
    /// A change in another run does not end a range, because a later run has earlier times if the wall clock was
    /// changed between the two.
    var shown: [SceneChange] {
        // The changes are visited from last to first. For each run, this is the position of the change visited before.
        // The key is the position at which the run ends.
        var next: [Int64: Int64] = [:]
        let shown = changes.reversed().compactMap { change -> SceneChange? in
            let (begin, run) = (change.place.lowerBound, change.place.upperBound)
            let end = min(next.updateValue(begin, forKey: run) ?? run, run)
            guard begin < end else { return nil }
            var change = change
            change.place = begin..<end
            return change
        }
        return shown.sorted { $0.place.lowerBound < $1.place.lowerBound }
    }
}
