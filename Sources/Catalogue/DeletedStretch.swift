// SPDX-License-Identifier: Apache-2.0

internal import GRDB
internal import Media

/// Deleted files are remembered while an older file of their run remains, so that their absence does not count as a
/// gap. Deleted files that follow each other without a gap become one row. Otherwise, while an old file is held for
/// years, there would be a row for each file that was deleted after it.
extension CatalogueSegment {
    /// Returns the row for this deleted file and `next`, the deleted file after it in the run. Nil if the two must stay
    /// two rows: something is missing between them, a file still waits for its upload, or the values would be too large
    /// for a row.
    func joined(with next: CatalogueSegment) -> CatalogueSegment? {
        guard let deleted, let nextDeleted = next.deleted, let run, run == next.run, channel == next.channel,
            programStart != nil, next.programStart != nil, isAudioAlone == next.isAudioAlone,
            upload != .waiting, next.upload != .waiting,
            !GapInference.gaps(in: [self, next], living: [run]).contains(where: { $0.to != nil })
        else { return nil }
        // If one of the two rows covers the other, the covering row stays unchanged except for its name and the time of
        // the deletion. The covered file had come back after its first deletion, and was deleted again.
        var joined = !covers(next) && next.covers(self) ? next : self
        joined.name = name
        joined.deleted = max(deleted, nextDeleted)
        if covers(next) || next.covers(self) { return joined }
        (joined.programEnd, joined.wholeEnd, joined.lastPts) = (next.programEnd, next.wholeEnd, next.lastPts)
        (joined.lateFrames, joined.frameDuration, joined.ending) = (next.lateFrames, next.frameDuration, next.ending)
        // A recorded source can have been silent between the two files. Nothing is missing then, but the duration of
        // the row must include the silence, so that the row reaches to the end of `next`.
        joined.duration = max(
            duration + next.duration, ((next.programEnd ?? .zero) - (programStart ?? .zero)).inNanoseconds)
        joined.frames += next.frames
        joined.audioSamples += next.audioSamples
        joined.bytes += next.bytes
        joined.sha256 = nil
        guard Cells.length.contains(joined.duration), Cells.count.contains(Int64(joined.frames)),
            Cells.count.contains(joined.audioSamples), Cells.count.contains(joined.bytes)
        else { return nil }
        return joined
    }
}

extension CatalogueSegment {
    /// Returns the row for the deleted files of this row that are left when `segment` gets this row's name. Either the
    /// first of these files has come back as `segment`, or `segment` is a new file with the same name, as happens with
    /// names that contain only the time of day. Nil if nothing is left.
    func rest(besides segment: CatalogueSegment) -> CatalogueSegment? {
        guard let deleted, let run, let programStart, let programEnd else { return nil }
        var rest = self
        rest.name += ".deleted-\(deleted)-\(programStart.nanoseconds)"
        (rest.upload, rest.sha256) = (nil, nil)
        guard segment.run == run, segment.channel == channel, segment.programStart == programStart else { return rest }
        guard let end = segment.programEnd, end < programEnd else { return nil }
        (rest.programStart, rest.firstPts) = (end, end)
        rest.start += (end - programStart).inMilliseconds
        rest.duration = max(0, duration - segment.duration)
        rest.frames = max(lateFrames, frames - segment.frames)
        rest.audioSamples = max(0, audioSamples - segment.audioSamples)
        rest.bytes = max(0, bytes - segment.bytes)
        return rest
    }
}

extension CatalogueSegment {
    /// Whether this row is the row of `other`, or a row of several deleted files that include `other`.
    func covers(_ other: CatalogueSegment) -> Bool {
        if name == other.name { return true }
        guard run != nil, run == other.run, channel == other.channel, let start = programStart, let end = programEnd,
            let otherStart = other.programStart, let otherEnd = other.programEnd
        else { return false }
        return start <= otherStart && otherEnd <= end
    }
}

extension CatalogueStore {
    /// Joins the row of the deleted file `name` with the rows of deleted files directly before and after it.
    static func joinDeleted(around name: String, _ database: Database) throws {
        guard let segment = try segments("name = ? AND deleted IS NOT NULL", [name], by: "name", database).first,
            let run = segment.run, let start = segment.programStart
        else { return }
        let before = try segments(
            "run = ? AND channel = ? AND (program_start, name) < (?, ?)",
            [run, segment.channel, start.nanoseconds, name],
            by: "program_start DESC, name DESC LIMIT 1", database)
        let after = try segments(
            "run = ? AND channel = ? AND (program_start, name) > (?, ?)",
            [run, segment.channel, start.nanoseconds, name],
            by: "program_start, name LIMIT 1", database)
        _ = try joinDeleted(before + [segment] + after, database)
    }

    /// Joins the rows of deleted files among `segments`, which are all files of a part of a run, in their order.
    /// Returns the remaining rows.
    static func joinDeleted(_ segments: [CatalogueSegment], _ database: Database) throws -> [CatalogueSegment] {
        var result: [CatalogueSegment] = []
        var changed: Set<Int> = []
        for segment in segments {
            guard let joined = result.last?.joined(with: segment) else {
                result.append(segment)
                continue
            }
            try database.execute(sql: "DELETE FROM segments WHERE name = ?", arguments: [segment.name])
            result[result.count - 1] = joined
            changed.insert(result.count - 1)
        }
        for index in changed { try SegmentRow(result[index]).save(database) }
        return result
    }
}
