// SPDX-License-Identifier: Apache-2.0

internal import Catalogue
internal import Stitcher

/// When a scene, or a source, was on air by what the catalogue says. Pure.
struct SceneRanges {
    /// The channel whose program it was.
    let channel: String
    /// Milliseconds since 1970, in the order of time. A range ends where something else begins to come on air, or where the
    /// recorder's run ends.
    let ranges: [Range<Int64>]

    private static let millisecond: Int64 = 1_000_000

    /// Finds `scene` in the program of `channel`, or of the one whose sources that channel is one of; or of the only program
    /// that there is. Of what was on air only what meets `limits` counts.
    init(
        of scene: String, in segments: [CatalogueSegment], events: [CatalogueEvent], channel: String?,
        limits: Range<Int64>?
    ) throws(ClipFailure) {
        let told = try SceneChange.told(segments, events, channel: channel)
        let changes = told.changes
        var found: [Range<Int64>] = []
        for (index, change) in changes.enumerated() where change.scene.shows(scene) {
            // In the order in which they were told, whatever the clock says.
            let end = min(index + 1 < changes.count ? changes[index + 1].time : .max, change.end)
            guard change.time < end else { continue }
            if let last = found.last, last.upperBound == change.time {
                found[found.count - 1] = last.lowerBound..<end
            } else {
                found.append(change.time..<end)
            }
        }
        guard !found.isEmpty else { throw ClipFailure("Nothing says that \(scene) was on air in \(told.channel).") }
        let whole = found.map { range in
            // Where both are rounded to within, no frame of something else is in it.
            let start = (range.lowerBound + Self.millisecond - 1) / Self.millisecond
            return start..<max(start, range.upperBound / Self.millisecond)
        }
        let limits = limits ?? .min..<Int64.max
        ranges = whole.map { $0.clamped(to: limits) }.filter { !$0.isEmpty }
        guard !ranges.isEmpty else { throw ClipFailure("\(scene) was not on air between --from and --to.") }
        self.channel = told.channel
    }
}
