// SPDX-License-Identifier: Apache-2.0

internal import Catalogue
internal import Stitcher

/// Something that came on air in a program of several sources, by what the catalogue says.
struct SceneChange {
    let scene: SceneEvent
    /// When, in nanoseconds since 1970, and when the run of its recorder ended.
    let time: Int64
    let end: Int64
    /// Nanoseconds from one frame of the program to the next.
    let frameDuration: Int64

    /// Files are dated to the millisecond, and an event when its frame was made.
    private static let near: Int64 = 2_000_000_000

    /// All that came on air in the program of `channel`, or of the one whose sources that channel is one of; or of the only
    /// program that there is. In the order in which it was told.
    static func told(
        _ segments: [CatalogueSegment], _ events: [CatalogueEvent], channel: String?
    ) throws(ClipFailure) -> (channel: String, changes: [SceneChange]) {
        let told = events.filter { $0.kind == SceneEvent.kind }
        let channel = try program(of: channel, among: Set(told.map(\.channel)))
        let segments = segments.filter { $0.channel == channel }
        let changes = told.filter { $0.channel == channel }.compactMap { event -> SceneChange? in
            guard let scene = SceneEvent(text: event.text) else { return nil }
            return SceneChange(min(max(0, event.start), 9_000_000_000_000) * 1_000_000, scene, in: segments)
        }
        return (channel, changes)
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

    /// What an event at `time` told, as far as there are files of it: `segments` are those of its channel, in order.
    private init?(_ time: Int64, _ scene: SceneEvent, in segments: [CatalogueSegment]) {
        guard let file = segments.first(where: { $0.nanoseconds.upperBound > time }) else { return nil }
        self.scene = scene
        frameDuration = max(1, file.frameDuration)
        let first = file.nanoseconds.lowerBound
        let frames = scene.frame - ((file.programStart ?? 0) + frameDuration / 2) / frameDuration
        let (length, isFar) = frames.multipliedReportingOverflow(by: frameDuration)
        let (exact, isFarther) = first.addingReportingOverflow(length)
        let isExact = !isFar && !isFarther && abs(exact - time) < Self.near
        // What came on air while nothing was recorded is in the file that follows.
        self.time = max(isExact ? exact : time, time < first ? first : .min)
        end = segments.last { $0.run == file.run }?.nanoseconds.upperBound ?? file.nanoseconds.upperBound
    }
}

extension CatalogueSegment {
    /// When it was on air, in nanoseconds since 1970; as far as that can be said, until the year 2262.
    fileprivate var nanoseconds: Range<Int64> {
        let start = min(max(0, start), 9_000_000_000_000) * 1_000_000
        return start..<start + min(max(0, duration), 1 << 56)
    }
}
