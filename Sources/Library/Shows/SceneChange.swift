// SPDX-License-Identifier: Apache-2.0

internal import Catalogue
internal import Stitcher

/// Something that came on air in a program of several sources, by what the catalogue says.
struct SceneChange {
    let scene: SceneEvent
    /// Where, on the line of the program's frames, and where the run of its recorder ended.
    var place: Range<Int64>
    /// How many frames before that it came, which are in no file.
    let late: Int64

    /// What the catalogue tells of one program.
    struct Told {
        let channel: String
        let files: ProgramFiles
        /// In the order in which it was told, whatever the clock said.
        let changes: [SceneChange]
    }

    /// All that came on air in the program of `channel`, or of the one whose sources that channel is one of; or of the only
    /// program that there is.
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
    /// What was on air where: each change with the frames to where something else comes, or the run of its recorder ends.
    var shown: [SceneChange] {
        changes.indices.compactMap { index in
            var change = changes[index]
            let next = index + 1 < changes.count ? changes[index + 1].place.lowerBound : .max
            let end = min(next, change.place.upperBound)
            guard change.place.lowerBound < end else { return nil }
            change.place = change.place.lowerBound..<end
            return change
        }
    }
}
