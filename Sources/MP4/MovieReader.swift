// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Reads a `moov`. An open recording has it at the beginning, a closed one at the end, and an exported clip at either
/// place.
enum MovieReader {
    /// The longest accepted empty edit: ten years, in seconds.
    private static let longestEmptyEdit: Int64 = 315_360_000

    static func layout(_ moov: BoxReader) throws(MP4Failure) -> MovieLayout {
        var header = try moov.first("mvhd")
        let version = try header.versionAndFlags().version
        let created = try header.time(version: version)
        _ = try header.time(version: version)
        let timescale = try self.timescale(&header)
        var layout = MovieLayout(
            timescale: timescale, creationTime: UInt64(clamping: created), tracks: [], userData: [])
        for box in try moov.boxes() {
            if box.type == "trak", try !ChapterTrack.isIn(box.body) {
                layout.tracks.append(try track(box.body, timescale))
            }
            if box.type == "udta" { layout.userData = Array(box.whole) }
        }
        let ids = Set(layout.tracks.map(\.id))
        guard (1...2).contains(layout.tracks.count), ids.count == layout.tracks.count, !ids.contains(0) else {
            throw MP4Failure(description: "it has other tracks than one of frame and one of audio")
        }
        return layout
    }

    private static func timescale(_ reader: inout BoxReader) throws(MP4Failure) -> UInt32 {
        let timescale = try reader.u32()
        guard timescale > 0 else { throw MP4Failure(description: "a time scale is 0") }
        return timescale
    }

    private static func track(_ trak: BoxReader, _ movieTimescale: UInt32) throws(MP4Failure) -> MovieLayout.Track {
        var header = try trak.first("tkhd")
        let version = try header.versionAndFlags().version
        _ = try header.take(version == 0 ? 8 : 16)
        let id = try header.u32()
        // Skips to the last three fields of `tkhd`: the matrix, the width and the height.
        _ = try header.take(header.count - 44)
        var matrix: [UInt32] = []
        for _ in 0..<9 { matrix.append(try header.u32()) }
        let (width, height) = (try header.u32(), try header.u32())

        let media = try trak.first("mdia")
        var mediaHeader = try media.first("mdhd")
        _ = try mediaHeader.take(try mediaHeader.versionAndFlags().version == 0 ? 8 : 16)
        let timescale = try self.timescale(&mediaHeader)
        var handler = try media.first("hdlr")
        _ = try handler.take(8)
        let type = try handler.code()
        guard type == "vide" || type == "soun" else { throw MP4Failure(description: "a track is of another kind") }

        let table = try media.first("minf").first("stbl")
        var description: [UInt8] = []
        for box in try table.boxes() where box.type == "stsd" { description = Array(box.whole) }
        guard !description.isEmpty else { throw MP4Failure(description: "there is no stsd") }
        var track = MovieLayout.Track(
            id: id, kind: type == "vide" ? .video : .audio, timescale: timescale, width: width, height: height,
            matrix: matrix,
            sampleDescription: description)
        try edits(try trak.first("edts").first("elst"), &track, movieTimescale)
        return track
    }

    private static func edits(
        _ box: BoxReader, _ track: inout MovieLayout.Track, _ movieTimescale: UInt32
    ) throws(MP4Failure) {
        var elst = box
        let version = try elst.versionAndFlags().version
        let count = try elst.u32()
        guard (1...2).contains(count) else { throw MP4Failure(description: "an edit list is of another make") }
        for _ in 0..<count {
            let duration = try elst.time(version: version)
            let time = try elst.mediaTime(version: version)
            _ = try elst.u32()
            if time == -1 {
                // An empty edit that is too long is refused. Times are later added to its duration, perhaps in a
                // timescale with more ticks, and must not overflow.
                guard duration <= Int64(movieTimescale) * longestEmptyEdit else {
                    throw MP4Failure(description: "a track begins absurdly late")
                }
                track.emptyEdit = max(0, duration)
            } else {
                (track.mediaTime, track.shownDuration) = (max(0, time), duration)
            }
        }
    }
}
