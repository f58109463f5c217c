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

    /// Files are dated to the millisecond, and an event when its frame was made.
    private static let near: Int64 = 2_000_000_000
    private static let millisecond: Int64 = 1_000_000

    /// Finds `scene` in the program of `channel`, or of the one whose sources that channel is one of; or of the only program
    /// that there is. Of what was on air only what meets `limits` counts.
    init(
        of scene: String, in segments: [CatalogueSegment], events: [CatalogueEvent], channel: String?,
        limits: Range<Int64>?
    ) throws(ClipFailure) {
        let told = events.filter { $0.kind == SceneEvent.kind }
        let channel = try Self.program(of: channel, among: Set(told.map(\.channel)))
        let segments = segments.filter { $0.channel == channel }
        let changes = told.filter { $0.channel == channel }.compactMap { event -> Change? in
            guard let scene = SceneEvent(text: event.text) else { return nil }
            return Change(min(max(0, event.start), 9_000_000_000_000) * Self.millisecond, scene, in: segments)
        }
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
        guard !found.isEmpty else { throw ClipFailure("Nothing says that \(scene) was on air in \(channel).") }
        let whole = found.map { range in
            // Where both are rounded to within, no frame of something else is in it.
            let start = (range.lowerBound + Self.millisecond - 1) / Self.millisecond
            return start..<max(start, range.upperBound / Self.millisecond)
        }
        let limits = limits ?? .min..<Int64.max
        ranges = whole.map { $0.clamped(to: limits) }.filter { !$0.isEmpty }
        guard !ranges.isEmpty else { throw ClipFailure("\(scene) was not on air between --from and --to.") }
        self.channel = channel
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

    /// Something came on air.
    private struct Change {
        let scene: SceneEvent
        /// When, in nanoseconds since 1970, and when the run of its recorder ended.
        let time: Int64
        let end: Int64

        /// What an event at `time` told, as far as there are files of it: `segments` are those of its channel, in order.
        init?(_ time: Int64, _ scene: SceneEvent, in segments: [CatalogueSegment]) {
            guard let file = segments.first(where: { $0.nanoseconds.upperBound > time }) else { return nil }
            self.scene = scene
            let first = file.nanoseconds.lowerBound
            let frames = scene.frame - ((file.programStart ?? 0) + file.frameDuration / 2) / file.frameDuration
            let (length, isFar) = frames.multipliedReportingOverflow(by: file.frameDuration)
            let (exact, isFarther) = first.addingReportingOverflow(length)
            let isExact = !isFar && !isFarther && abs(exact - time) < SceneRanges.near
            // What came on air while nothing was recorded is in the file that follows.
            self.time = max(isExact ? exact : time, time < first ? first : .min)
            end = segments.last { $0.run == file.run }?.nanoseconds.upperBound ?? file.nanoseconds.upperBound
        }
    }
}

extension CatalogueSegment {
    /// When it was on air, in nanoseconds since 1970; as far as that can be said, until the year 2262.
    fileprivate var nanoseconds: Range<Int64> {
        let start = min(max(0, start), 9_000_000_000_000) * 1_000_000
        return start..<start + min(max(0, duration), 1 << 56)
    }
}
