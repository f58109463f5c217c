// SPDX-License-Identifier: Apache-2.0

internal import GRDB
internal import Media

extension CatalogueStore {
    /// Returns the clips of `channel` sorted by time; empty if the database is from a version without clips.
    func clips(of channel: String) throws(CatalogueFailure) -> [CatalogueClip] {
        try read { database in
            guard try database.hasTable("clips") else { return [] }
            return try Row.fetchAll(
                database, sql: "SELECT * FROM clips WHERE channel = ? ORDER BY start, rowid", arguments: [channel]
            ).compactMap(CatalogueClip.init(validating:))
        }
    }

    /// Adds or updates clips, and removes the clips of `channel` whose ids are in `removed`.
    func put(_ clips: [CatalogueClip], removing removed: [String], of channel: String) throws(CatalogueFailure) {
        try write { database in
            for id in removed {
                try database.execute(sql: "DELETE FROM clips WHERE channel = ? AND id = ?", arguments: [channel, id])
            }
            for clip in clips { try Self.put(clip, database) }
        }
    }

    static func put(_ clip: CatalogueClip, _ database: Database) throws {
        try database.execute(sql: putClip, arguments: clip.arguments)
    }

    private static let putClip = """
        INSERT OR REPLACE INTO clips (
            channel, id, run, start, first_frame, end_frame, lacking, complete, rate, rate_divisor, name, released,
            audio_offset, seal
        ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """
}

extension CatalogueClip {
    fileprivate var arguments: StatementArguments {
        [
            channel, id, clip.run, start, clip.first, clip.end, clip.lacking, clip.isComplete ? 1 : 0,
            rate.numerator, rate.denominator, name, released, audioOffset, seal,
        ]
    }

    /// A checksum of all cells (64-bit FNV-1a), which shows whether a disk has changed one of them.
    var seal: Int64 {
        let numbers: [Int64?] = [
            start, clip.first, clip.end, clip.lacking, clip.isComplete ? 1 : 0, Int64(rate.numerator),
            Int64(rate.denominator), released, audioOffset,
        ]
        let texts = [channel, id, clip.run, name].map { $0.map { "\($0.utf8.count):\($0)" } }
        let cells = (texts + numbers.map { $0.map { "\($0)" } }).map { $0 ?? "-" }.joined(separator: ",")
        return Int64(
            bitPattern: cells.utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 })
    }

    /// Frame numbers, up to 69 years at 1000 frames per second.
    private static let frames: ClosedRange<Int64> = 0...1 << 41
    /// The audio of a clip can begin long after the clip's first frame. Therefore any number is valid here, and only
    /// the checksum shows whether the number is damaged.
    private static let offsets: ClosedRange<Int64> = .min ... .max

    /// The clip of a database row; nil if a cell is invalid. Such a row counts as missing.
    init?(validating row: Row) {
        self.init(cells: row)
        // A database that is opened read-only can be from an older relay, whose rows have no checksum (`seal`).
        guard !row.hasColumn("seal") || Cells(row: row).integer("seal", in: .min ... .max) == seal else { return nil }
    }

    /// Reads the clip of a database row without comparing the checksum; nil if a cell is invalid.
    init?(cells row: Row) {
        let cells = Cells(row: row)
        guard let channel = cells.text("channel"), let id = cells.text("id"), let run = cells.text("run"),
            let start = cells.integer("start", in: Cells.wallClock),
            let first = cells.integer("first_frame", in: Self.frames),
            let end = cells.optional("end_frame", in: Self.frames), first <= end ?? .max,
            let lacking = cells.integer("lacking", in: Self.frames),
            let complete = cells.integer("complete", in: 0...1), let rate = cells.integer("rate", in: 1...1_000_000),
            let divisor = cells.integer("rate_divisor", in: 1...1_000_000),
            let name = cells.optional("name", cells.text),
            let released = cells.optional("released", in: Cells.wallClock),
            let audioOffset = cells.optional("audio_offset", in: Self.offsets)
        else { return nil }
        self.init(
            ClipMachine.Clip(id: id, run: run, first: first, end: end, lacking: lacking, isComplete: complete == 1),
            channel: channel, rate: FrameRate(Int32(rate), Int32(divisor)), start: start, name: name)
        (self.released, self.audioOffset) = (released, audioOffset)
    }
}
