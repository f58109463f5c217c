// SPDX-License-Identifier: Apache-2.0

internal import Media

/// The `moov` of a plain or fragmented MP4 file, and the samples of its tracks.
///
/// ```swift
/// let file = try MovieFile.read(source)
/// for track in file.layout.tracks {
///     print(track.kind, file.tables[track.id]?.count ?? 0)
/// }
/// ```
package struct MovieFile {
    /// The contents of the `moov` except for the samples.
    package let layout: MovieLayout
    /// The sample table of each track, by track ID.
    package let tables: [UInt32: SampleTable]
    /// True for a plain MP4, which was closed; false for a fragmented file.
    package let isClosed: Bool

    /// The maximum size of the `moov` of a closed file in bytes. It is enough for more than a day of media.
    private static let movieLimit: Int64 = 256 << 20

    /// Reads the `moov` and the sample tables of the file `source`. Media is read only to search for fragments after
    /// damaged bytes. Throws ``MP4Failure`` if this module did not write the file, and rethrows the errors of `source`.
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
