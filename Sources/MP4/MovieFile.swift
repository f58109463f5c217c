// SPDX-License-Identifier: Apache-2.0

internal import Media

/// The `moov` of a file and the samples of its tracks, whether the file is plain or still fragmented.
package struct MovieFile {
    /// What the `moov` says besides the samples.
    package let layout: MovieLayout
    /// The samples by track.
    package let tables: [UInt32: SampleTable]
    /// Whether the file is a plain MP4; if not, it is a fragmented one.
    package let isClosed: Bool

    /// The size of a `moov` for a day and more of program; no file has a longer one.
    private static let movieLimit: Int64 = 256 << 20

    /// Reads the tables in `source`, without any media. What it reads is bounded by the size of `source`. Throws
    /// ``MP4Failure`` if the bytes are not what this module writes, and what `source` throws.
    package static func read(_ source: some ByteSource) throws -> MovieFile {
        switch try FragmentedFileReader(source).read() {
        case .open(let file): return MovieFile(layout: file.layout, tables: file.tables, isClosed: false)
        case .closed(let range):
            guard range.count <= movieLimit else { throw MP4Failure(description: "its index is absurdly large") }
            let bytes = try source.read(at: range.lowerBound, count: range.count)
            let movie = BoxReader(bytes.dropFirst(8))
            let layout = try MovieReader.layout(movie)
            var tables: [UInt32: SampleTable] = [:]
            let boxes = try movie.boxes().filter { try $0.type == "trak" && !ChapterTrack.isIn($0.body) }
            for (track, box) in zip(layout.tracks, boxes) {
                let stbl = try box.body.first("mdia").first("minf").first("stbl")
                tables[track.id] = try SampleTableReader.table(stbl, kind: track.kind)
            }
            return MovieFile(layout: layout, tables: tables, isClosed: true)
        }
    }
}
