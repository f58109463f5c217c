// SPDX-License-Identifier: Apache-2.0

package import Catalogue
package import Stitcher

/// The times at which a scene or a source was on air, as the catalogue recorded them. Uses neither clock nor disk.
package struct SceneRanges {
    /// The channel that had the scene on air.
    package let channel: String
    /// The ranges in milliseconds since 1970, in the order of time. A range ends when the next scene begins to replace
    /// this one, or at the end of the recorder's run.
    package let ranges: [Range<Int64>]

    private static let millisecond: Int64 = 1_000_000

    /// Finds `scene` in the program of `channel`, or in the program that has that channel as a source. Without
    /// `channel`, there must be only one program. Times outside of `limits` are left out.
    package init(
        of scene: String, in segments: [CatalogueSegment], events: [CatalogueEvent], channel: String?,
        limits: Range<Int64>?
    ) throws(ClipFailure) {
        let told = try SceneChange.told(segments, events, channel: channel)
        var found: [Range<Int64>] = []
        for change in told.shown where change.scene.shows(scene) {
            let place = change.place
            if let last = found.last, last.upperBound == place.lowerBound {
                found[found.count - 1] = last.lowerBound..<place.upperBound
            } else {
                found.append(place)
            }
        }
        guard !found.isEmpty else { throw ClipFailure("Nothing says that \(scene) was on air in \(told.channel).") }
        let whole = found.map { place in
            // Both ends are rounded inwards, so that no frame of another scene is in the range.
            let start = (told.files.time(of: place.lowerBound) + Self.millisecond - 1) / Self.millisecond
            return start..<max(start, told.files.end(of: place.upperBound - 1) / Self.millisecond)
        }
        let limits = limits ?? .min..<Int64.max
        ranges = whole.map { $0.clamped(to: limits) }.filter { !$0.isEmpty }
        guard !ranges.isEmpty else { throw ClipFailure("\(scene) was not on air between --from and --to.") }
        self.channel = told.channel
    }
}
