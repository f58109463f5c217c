// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import GRDB
internal import Media

/// Writes a segment with GRDB, so that the public type does not depend on the database. Rows are read by
/// ``CatalogueSegment/init(validating:)``.
struct SegmentRow: Encodable, PersistableRecord {
    static let databaseTableName = "segments"

    var segment: CatalogueSegment

    init(_ segment: CatalogueSegment) { self.segment = segment }
    func encode(to encoder: any Encoder) throws { try segment.encode(to: encoder) }
}

/// Writes a gap with GRDB.
struct GapRow: Encodable, PersistableRecord {
    static let databaseTableName = "gaps"
    static let persistenceConflictPolicy = PersistenceConflictPolicy(insert: .replace, update: .replace)

    var gap: CatalogueGap

    init(_ gap: CatalogueGap) { self.gap = gap }
    func encode(to encoder: any Encoder) throws { try gap.encode(to: encoder) }
}

/// Writes an event with GRDB.
struct EventRow: Encodable, PersistableRecord {
    static let databaseTableName = "events"

    var event: CatalogueEvent

    init(_ event: CatalogueEvent) { self.event = event }
    /// Encodes a scene as JSON, because the text of a scene event is made only for people.
    func encode(to encoder: any Encoder) throws {
        var written = event
        if let scene = event.scene { written.text = try scene.json() }
        try written.encode(to: encoder)
    }
}

/// Reads the cells of one row. The cells are not trusted, because a disk can flip any bit and any program can write to
/// the file. A value is `nil` if it has the wrong type, or if computations with it could overflow.
struct Cells {
    let row: Row

    /// Program times, up to 73 years.
    static let programTime: ClosedRange<ProgramInstant> = .zero...ProgramInstant(nanoseconds: 1 << 61)
    /// Milliseconds since 1970 for years with four digits.
    static let wallClock: ClosedRange<Int64> = -62_135_596_800_000...253_402_300_799_999
    /// At most a year, in nanoseconds: longer than any file.
    static let length: ClosedRange<Int64> = 0...31_536_000_000_000_000
    static let count: ClosedRange<Int64> = 0...1 << 45

    private func value(_ column: String) -> DatabaseValue.Storage { (row[column] as DatabaseValue?)?.storage ?? .null }

    func isNull(_ column: String) -> Bool {
        if case .null = value(column) { true } else { false }
    }

    func integer(_ column: String, in range: ClosedRange<Int64>) -> Int64? {
        guard case .int64(let number) = value(column), range.contains(number) else { return nil }
        return number
    }

    func programTime(_ column: String) -> ProgramInstant? {
        guard case .int64(let number) = value(column) else { return nil }
        let time = ProgramInstant(nanoseconds: number)
        return Self.programTime.contains(time) ? time : nil
    }

    func text(_ column: String) -> String? {
        guard case .string(let text) = value(column) else { return nil }
        return text
    }

    /// Uses `read` to read a column that can be empty; returns `nil` if the value is neither empty nor valid.
    func optional<Value>(_ column: String, _ read: (String) -> Value?) -> Value?? {
        if isNull(column) { return .some(nil) }
        return read(column).map { .some($0) }
    }

    func optional(_ column: String, in range: ClosedRange<Int64>) -> Int64?? {
        optional(column) { integer($0, in: range) }
    }

    /// Returns the path in `column`; nil unless the path stays in the directory of the recordings and is not hidden.
    func path(_ column: String) -> String? {
        guard let text = text(column), !text.isEmpty, !text.utf8.contains(0) else { return nil }
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        return parts.allSatisfy { !$0.isEmpty && !$0.hasPrefix(".") } ? text : nil
    }

    func checksum(_ column: String) -> String? {
        text(column).flatMap { $0.utf8.count == 64 && $0.allSatisfy(\.isHexDigit) ? $0 : nil }
    }
}

extension CatalogueSegment {
    /// The segment of a database row; nil if a cell is invalid. Such a row counts as missing, and a new one is made
    /// from the file.
    init?(validating row: Row) {
        let cells = Cells(row: row)
        guard let name = cells.path("name"), let channel = cells.text("channel"),
            let sequence = cells.optional("sequence", in: Cells.count), let run = cells.optional("run", cells.text),
            let start = cells.integer("start", in: Cells.wallClock),
            let programStart = cells.optional("program_start", cells.programTime),
            let programEnd = cells.optional("program_end", cells.programTime),
            let wholeEnd = cells.optional("whole_end", cells.programTime),
            let lateFrames = cells.integer("late_frames", in: Cells.count),
            let frameDuration = cells.integer("frame_duration", in: Self.shortestFrame...Cells.length.upperBound),
            let firstPts = cells.optional("first_pts", cells.programTime),
            let lastPts = cells.optional("last_pts", cells.programTime),
            let duration = cells.integer("duration", in: Cells.length),
            let frames = cells.integer("frames", in: Cells.count),
            let audioSamples = cells.integer("audio_samples", in: Cells.count),
            let bytes = cells.integer("bytes", in: Cells.count), let sha256 = cells.optional("sha256", cells.checksum),
            let ending = cells.optional("ending", { cells.text($0).flatMap(SegmentEnding.init) }),
            let upload = cells.optional("upload", { cells.text($0).flatMap(UploadState.init) }),
            let deleted = cells.optional("deleted", in: Cells.wallClock),
            (programStart ?? .zero) <= (programEnd ?? .distantFuture), lateFrames <= frames
        else { return nil }
        self.init(
            name: name, channel: channel, sequence: sequence.map { Int($0) }, run: run, start: start,
            programStart: programStart, programEnd: programEnd, wholeEnd: wholeEnd, lateFrames: Int(lateFrames),
            frameDuration: frameDuration, firstPts: firstPts, lastPts: lastPts, duration: duration,
            frames: Int(frames), audioSamples: audioSamples, bytes: bytes, sha256: sha256, ending: ending,
            upload: upload, deleted: deleted)
    }

    /// Returns a row's upload state, even if other cells are invalid; nil if the row has no state. An unreadable state
    /// counts as ``UploadState/waiting`` if the channel is in `uploaded`, or if the channel is unreadable, too, and
    /// `uploaded` is not empty.
    static func upload(in row: Row, uploaded: Set<String>) -> (name: String, state: UploadState)? {
        let cells = Cells(row: row)
        guard let name = cells.path("name"), !cells.isNull("upload") else { return nil }
        if let state = cells.text("upload").flatMap(UploadState.init) { return (name, state) }
        let mayWait = cells.text("channel").map(uploaded.contains) ?? !uploaded.isEmpty
        return mayWait ? (name, .waiting) : nil
    }
}

extension CatalogueGap {
    /// The gap of a database row; nil if a cell is invalid. Such a row counts as missing.
    init?(validating row: Row) {
        let cells = Cells(row: row)
        guard let channel = cells.text("channel"), let run = cells.text("run"),
            let start = cells.integer("start", in: Cells.wallClock),
            let from = cells.programTime("from_pts"),
            let to = cells.optional("to_pts", cells.programTime),
            let frames = cells.optional("frames", in: Cells.count), let cause = cells.text("cause"),
            let told = cells.integer("told", in: 0...1), from <= to ?? .distantFuture
        else { return nil }
        self.init(
            channel: channel, run: run, start: start, from: from, to: to, frames: frames.map { Int($0) },
            cause: cause, isTold: told == 1)
    }
}

extension CatalogueEvent {
    /// The event of a database row; nil if a cell is invalid. Such a row counts as missing.
    init?(validating row: Row) {
        let cells = Cells(row: row)
        guard let channel = cells.text("channel"), let start = cells.integer("start", in: Cells.wallClock),
            let kind = cells.text("kind"), let text = cells.text("text")
        else { return nil }
        let time = UTCTime(milliseconds: start)
        // A catalogue that is opened read-only can still contain scenes in words, because they could not be rewritten
        // as JSON.
        if kind == SceneEvent.kind, let scene = SceneEvent(json: text) ?? SceneEvent(words: text) {
            self.init(channel: channel, at: time, scene: scene)
        } else {
            self.init(channel: channel, at: time, kind: kind, text: text)
        }
    }
}
