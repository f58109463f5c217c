// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import GRDB
internal import Media

/// Reads only the scenes of a time range, and the files that they are in.
extension RecordingArchive {
    /// How much before and after a range is read as well, in milliseconds, so that no frame at its ends is missing.
    private static let margin: Int64 = 60_000
    /// The maximum difference, in milliseconds, between the date of a scene and the date of its frame by the files.
    private static let near: Int64 = 30_000

    /// Returns the files and scenes of the catalogue that tell what was on air in `limits`, in milliseconds since 1970,
    /// in the program of `channel`, or in the program that has that channel as a source. No other rows are read. Without
    /// `channel`, there must be only one program.
    ///
    /// Returns nil if the rest of the catalogue, or files that it does not have, can matter: if its files do not fill
    /// `limits`, if one of them was salvaged, if the clock was set, or if the catalogue cannot be read.
    package func scenes(in limits: Range<Int64>, of channel: String?) -> Contents? {
        try? withCatalogue { (store) throws(CatalogueFailure) in
            try store.hasTables() ? scenes(in: limits, of: channel, in: store) : nil
        }
    }

    func scenes(
        in limits: Range<Int64>, of channel: String?, in store: CatalogueStore
    ) throws(CatalogueFailure) -> Contents? {
        let window = Self.window(limits)
        return try store.read { database -> Contents? in
            let programs = try CatalogueStore.channelsWithScenes(database).filter { program in
                channel.map { $0 == program || $0.hasPrefix("\(program)-") } ?? true
            }
            guard !programs.isEmpty, channel != nil || programs.count == 1 else { return nil }
            var (files, events): ([CatalogueSegment], [CatalogueEvent]) = ([], [])
            for name in Set(programs + (channel.map { [$0] } ?? [])).sorted() {
                let present = try newestPresent(of: name, in: window, limit: .max, database)
                guard Self.fill(limits, present.reversed()), !present.contains(where: isSalvaged) else { return nil }
                files += present
                guard programs.contains(name) else { continue }
                guard let scenes = try CatalogueStore.scenes(of: name, in: window, database),
                    Self.agree(scenes, present)
                else { return nil }
                events += scenes
            }
            files.sort { ($0.channel, $0.start, $0.name) < ($1.channel, $1.start, $1.name) }
            return Contents(segments: files, gaps: [], events: events, notes: [])
        }
    }

    /// Like ``scenes(in:of:)``, but with the files of the recorded sources that were visible or audible, for a run-down
    /// of `limits`. Also returns nil if the catalogue has files of such a source, but none from the beginning of
    /// `limits`: the source can have been recorded then in a file that the catalogue does not have.
    package func show(in limits: Range<Int64>, of channel: String?) -> Contents? {
        try? withCatalogue { (store) throws(CatalogueFailure) in
            try store.hasTables() ? show(in: limits, of: channel, in: store) : nil
        }
    }

    func show(
        in limits: Range<Int64>, of channel: String?, in store: CatalogueStore
    ) throws(CatalogueFailure) -> Contents? {
        guard var contents = try scenes(in: limits, of: channel, in: store) else { return nil }
        let scenes = contents.events.compactMap(\.scene)
        let isMixed = scenes.contains { $0.detail("audio") == "mix" }
        let names = Set(scenes.flatMap { scene in scene.sources + [scene.detail("audio")].compactMap(\.self) })
        let programs = Set(contents.events.map(\.channel))
        let isOnAir = { (source: String) in
            programs.contains { program in
                source.hasPrefix("\(program)-")
                    && (isMixed || names.contains(String(source.dropFirst(program.count + 1))))
            }
        }
        let known = Set(contents.segments.map(\.channel))
        let files = try store.read { database -> [CatalogueSegment]? in
            let recorded = try CatalogueStore.channels(in: "segments WHERE deleted IS NULL", database)
            var files: [CatalogueSegment] = []
            for source in recorded.subtracting(known) where isOnAir(source) {
                let present = try newestPresent(of: source, in: Self.window(limits), limit: .max, database)
                guard present.contains(where: { $0.contains(limits.lowerBound) }), !present.contains(where: isSalvaged)
                else { return nil }
                files += present
            }
            return files
        }
        guard let files else { return nil }
        contents.segments = (contents.segments + files).sorted {
            ($0.channel, $0.start, $0.name) < ($1.channel, $1.start, $1.name)
        }
        return contents
    }

    /// The times of which files and scenes are read for `limits`.
    private static func window(_ limits: Range<Int64>) -> Range<Int64> {
        sum(limits.lowerBound, -margin)..<sum(limits.upperBound, margin)
    }

    /// Whether the dates of `files` and `scenes` agree with their program times, and no two runs have the same dates, as
    /// it is if the clock was not set.
    private static func agree(_ scenes: [CatalogueEvent], _ files: [CatalogueSegment]) -> Bool {
        var runs: [String: (start: Int64, frameDuration: Int64, dates: Range<Int64>)] = [:]
        for file in files {
            guard let run = file.run, let programStart = file.programStart else { return false }
            let start = file.start - (programStart - .zero).inMilliseconds
            let dates = file.start..<max(file.start, file.end)
            guard let known = runs[run] else {
                runs[run] = (start, file.frameDuration, dates)
                continue
            }
            guard abs(known.start - start) < near else { return false }
            let all = min(known.dates.lowerBound, dates.lowerBound)..<max(known.dates.upperBound, dates.upperBound)
            runs[run]?.dates = all
        }
        // If runs overlap, the last scene before the range can be of one run, and an earlier scene of another run can
        // still have been on air.
        let dates = runs.values.map(\.dates).sorted { $0.lowerBound < $1.lowerBound }
        let overlap = zip(dates, dates.dropFirst()).contains { $1.lowerBound <= sum($0.upperBound, -near) }
        guard !overlap else { return false }
        return scenes.allSatisfy { event in
            guard let scene = event.scene, let name = scene.run else { return false }
            guard let run = runs[name] else { return true }
            let (time, overflow) = scene.frame.multipliedReportingOverflow(by: run.frameDuration)
            return !overflow && abs(sum(event.start, -run.start) - time / 1_000_000) < near
        }
    }

    private static func sum(_ first: Int64, _ second: Int64) -> Int64 {
        let (sum, overflow) = first.addingReportingOverflow(second)
        return overflow ? (first > 0 ? .max : .min) : sum
    }
}

extension CatalogueStore {
    /// Returns the channels that have scenes, sorted. Reads one event of each channel.
    static func channelsWithScenes(_ database: Database) throws -> [String] {
        guard try database.hasTable("events") else { return [] }
        return try channels(in: "events WHERE true", database).filter { channel in
            try Bool.fetchOne(
                database, sql: "SELECT EXISTS (SELECT 1 FROM events WHERE channel = ? AND kind = ?)",
                arguments: [channel, SceneEvent.kind]) ?? false
        }.sorted()
    }

    /// Returns the scenes of `channel` that went on air in `range`, in the order in which they were reported, with the
    /// last scene before and the first scene after the range. Returns nil if the scenes that were reported between these
    /// two have other times, because the clock was set, or if one of them is invalid.
    static func scenes(
        of channel: String, in range: Range<Int64>, _ database: Database
    ) throws -> [CatalogueEvent]? {
        let scene = "FROM events WHERE channel = ? AND kind = '\(SceneEvent.kind)'"
        let (first, last) = (
            try Int64.fetchOne(
                database, sql: "SELECT rowid \(scene) AND start < ? ORDER BY start DESC, rowid DESC LIMIT 1",
                arguments: [channel, range.lowerBound]),
            try Int64.fetchOne(
                database, sql: "SELECT rowid \(scene) AND start >= ? ORDER BY start, rowid LIMIT 1",
                arguments: [channel, range.upperBound])
        )
        // The rows that are counted by time must be the same rows as those that are counted by their numbers.
        let count = try Int.fetchOne(
            database, sql: "SELECT count(*) \(scene) AND start >= ? AND start < ?",
            arguments: [channel, range.lowerBound, range.upperBound])
        let limit = (count ?? 0) + (first == nil ? 0 : 1) + (last == nil ? 0 : 1)
        let rows = try Row.fetchAll(
            database, sql: "SELECT * \(scene) AND rowid BETWEEN ? AND ? ORDER BY rowid LIMIT ?",
            arguments: [channel, first ?? .min, last ?? .max, limit + 1])
        let events = rows.compactMap(CatalogueEvent.init(validating:))
        guard rows.count == limit, events.count == limit,
            zip(events, events.dropFirst()).allSatisfy({ $0.start <= $1.start })
        else { return nil }
        return events
    }
}

extension CatalogueSegment {
    /// Whether the file has frames from `time`, in milliseconds since 1970, or begins at most a frame later.
    fileprivate func contains(_ time: Int64) -> Bool {
        end > time && (start <= time || start - time <= frameDuration / 1_000_000)
    }
}
