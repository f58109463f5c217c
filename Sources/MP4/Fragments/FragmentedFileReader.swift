// SPDX-License-Identifier: Apache-2.0

internal import Media

/// The contents of a recording that was left open, for example by a crash.
package struct FragmentedFile {
    /// The contents of the file's first `moov`.
    package var layout: MovieLayout
    /// The sample table of each track, by track ID.
    package var tables: [UInt32: SampleTable] = [:]
    /// The offset at which the media ends: the end of the last complete fragment, or without fragments the end of the
    /// `moov`. If the search behind damaged bytes reached its limit before the end of the file, this is the size of the
    /// file, so that the bytes that were not searched are kept.
    package var mediaEnd: Int64
    /// The number of bytes before ``mediaEnd`` that belong to no complete fragment.
    package var skippedBytes: Int64 = 0
    /// The number of complete fragments.
    package var fragments = 0

    /// The number of frames in the complete fragments.
    package var frames: Int { layout.tracks.first { $0.kind == .video }.flatMap { tables[$0.id] }?.count ?? 0 }
}

/// Reads MP4 files that relay wrote. An open file may be truncated at any point after its `moov`. Other files are
/// refused.
package struct FragmentedFileReader {
    /// The kind of file that was found.
    package enum Content {
        /// An open file: fragments, and perhaps an incomplete fragment at the end.
        case open(FragmentedFile)
        /// A closed file. `movie` is the byte range of its complete `moov`.
        case closed(movie: Range<Int64>)
    }

    private let source: any ByteSource
    private let size: Int64
    private let searchLimit: Int64
    private let checkedTail: Int64

    private static let headSize = Int64(MovieBox.headSize)
    private static let movieLimit: Int64 = 1 << 20
    private static let fragmentLimit: Int64 = 16 << 20
    private static let searchBlock = 1 << 20
    /// The longest accepted distance in seconds between two fragments. A fragment that begins a day or more after the
    /// previous one counts as damaged, because the recorder ends a file when the program stops.
    private static let longestJump: Int64 = 86_400

    /// Creates a reader of `source`. After damaged bytes it searches the next `searchLimit` bytes for another fragment.
    /// With the default of 4 GiB, this takes about a minute on the slowest disks. If a fragment ends in the last
    /// `checkedTail` bytes, its media is checked, too: a fragment that has lost some of its media does not count.
    package init(_ source: any ByteSource, searchLimit: Int64 = 4 << 30, checkedTail: Int64 = 0) throws {
        self.checkedTail = checkedTail
        self.source = source
        self.searchLimit = searchLimit
        size = try source.size()
    }

    /// Reads the whole file.
    package func read() throws -> Content {
        var head = BoxReader(try source.read(at: 0, count: Int(Self.headSize))[...])
        let fileType = try head.box()
        guard fileType.type == "ftyp", fileType.whole.count == MovieBox.fileTypeSize else {
            throw MP4Failure(description: "it does not begin as this program's files do")
        }
        var second = head
        let (length, type) = (try second.u32(), try second.code())
        if type == "mdat", length == 1 { return try closed(mediaSize: try second.u64()) }
        if type == "moov", length >= 8, Int64(MovieBox.fileTypeSize) + Int64(length) <= size {
            let start = Int64(MovieBox.fileTypeSize)
            return .closed(movie: start..<start + Int64(length))
        }
        guard type == "free", length == MovieBox.placeholderSize else {
            throw MP4Failure(description: "it does not begin as this program's files do")
        }
        guard var file = try readHead() else { throw MP4Failure(description: "its head is incomplete") }
        repeat {
            while let end = try wholeFragment(at: file.mediaEnd, &file) {
                file.mediaEnd = end
                file.fragments += 1
            }
        } while try resynchronise(&file)
        return .open(file)
    }

    /// Reads the contents of the first `moov`; nil if it is missing or incomplete.
    package func readHead() throws -> FragmentedFile? {
        guard let movie = try bytes(of: "moov", at: Self.headSize, limit: Self.movieLimit) else { return nil }
        return FragmentedFile(
            layout: try MovieReader.layout(BoxReader(movie.dropFirst(8))),
            mediaEnd: Self.headSize + Int64(movie.count))
    }

    /// Searches for the next complete fragment after damaged bytes, and adds it to `file`. Returns whether a fragment
    /// was found. Without this search, one damaged sector would make all fragments after it unreadable.
    private func resynchronise(_ file: inout FragmentedFile) throws -> Bool {
        // The search finds the type of a box, which is stored four bytes after the beginning of the box.
        let mark = Array("moof".utf8)
        let damage = file.mediaEnd
        let limit = min(size, damage + searchLimit)
        var offset = damage + 5
        while offset < limit {
            let block = try source.read(at: offset, count: Int(min(Int64(Self.searchBlock), limit - offset)))
            for index in BoxReader.positions(of: mark, in: block) {
                let start = offset + Int64(index) - 4
                guard let end = try wholeFragment(at: start, &file) else { continue }
                file.skippedBytes += start - damage
                file.mediaEnd = end
                file.fragments += 1
                return true
            }
            guard block.count == Self.searchBlock else { break }
            // The last bytes of this block may be the beginning of a box type. So the next block begins with these
            // bytes.
            offset += Int64(block.count - mark.count + 1)
        }
        if limit < size {
            // The bytes that were not searched stay in the file, so that a later search with a higher limit may find
            // more.
            file.skippedBytes += size - damage
            file.mediaEnd = size
        }
        return false
    }

    /// Adds the fragment at `offset` like ``fragment(at:_:)``, but returns nil for damaged bytes instead of throwing. A
    /// read error of the disk is still thrown, because the bytes after `offset` may be intact.
    private func wholeFragment(at offset: Int64, _ file: inout FragmentedFile) throws -> Int64? {
        do {
            return try fragment(at: offset, &file)
        } catch is MP4Failure {
            return nil
        }
    }

    private func closed(mediaSize: UInt64) throws -> Content {
        let start = Int64(MovieBox.fileTypeSize)
        guard let media = Int64(exactly: mediaSize), media >= 16, media <= size - start,
            let length = try length(of: "moov", at: start + media, limit: size)
        else { throw MP4Failure(description: "its index is missing") }
        guard start + media + length == size else {
            throw MP4Failure(description: "something follows its index")
        }
        return .closed(movie: start + media..<size)
    }

    /// The length of the box at `offset`; nil if the box is incomplete or is not of `type`.
    private func length(of type: String, at offset: Int64, limit: Int64) throws -> Int64? {
        var header = BoxReader(try source.read(at: offset, count: 8)[...])
        guard header.count == 8 else { return nil }
        let (length, found) = (Int64(try header.u32()), try header.code())
        guard found == type, length >= 8, length <= limit, length <= size - offset else { return nil }
        return length
    }

    /// All bytes of the box at `offset`; nil if the box is incomplete or is not of `type`.
    private func bytes(of type: String, at offset: Int64, limit: Int64) throws -> [UInt8]? {
        guard let length = try length(of: type, at: offset, limit: limit) else { return nil }
        let bytes = try source.read(at: offset, count: Int(length))
        return bytes.count == Int(length) ? bytes : nil
    }

    /// Adds the fragment at `offset` to `file`, and returns the offset of its end. Returns nil if there is no
    /// complete fragment at `offset`, or if the fragment has lost media or does not continue the times of the previous
    /// fragment. Throws ``MP4Failure`` if the fragment's boxes are damaged.
    private func fragment(at offset: Int64, _ file: inout FragmentedFile) throws -> Int64? {
        // The headers of `mfhd` and `mdat` are checked before the whole `moof` is read, because bytes that only look
        // like a `moof` must not cause a large read, and the search may find such bytes at many offsets.
        guard let headLength = try length(of: "moof", at: offset, limit: Self.fragmentLimit),
            try length(of: "mfhd", at: offset + 8, limit: headLength - 8) != nil,
            try length(of: "mdat", at: offset + headLength, limit: size) != nil,
            let movie = try bytes(of: "moof", at: offset, limit: Self.fragmentLimit)
        else { return nil }
        let payload = offset + Int64(movie.count)
        var header = BoxReader(try source.read(at: payload, count: 8)[...])
        let (length, type) = (Int64(try header.u32()), try header.code())
        guard type == "mdat", length >= 8, length <= size - payload else { return nil }
        let media = Int64(movie.count) + 8...Int64(movie.count) + length
        var runs: [(id: UInt32, run: FragmentReader.Run)] = []
        var lasts = file.tables.mapValues(\.lastDecodeTime)
        for box in try BoxReader(movie.dropFirst(8)).boxes() where box.type == "traf" {
            let (id, run) = try FragmentReader.run(box.body, tracks: file.layout.tracks)
            let bytes = run.samples.reduce(Int64(0)) { $0 + Int64($1.size) }
            guard media.contains(run.offset), media.contains(run.offset + bytes) else { return nil }
            let last = lasts[id] ?? 0
            let timescale = file.layout.tracks.first { $0.id == id }?.timescale ?? 1
            // Fragments further apart than a sample table can express are refused: it has only 32 bits for the
            // difference between the times of two samples.
            let longest = min(Int64(timescale) * Self.longestJump, Int64(UInt32.max))
            guard let first = run.samples.first, first.decodeTime >= last, first.decodeTime - last < longest else {
                return nil
            }
            lasts[id] = run.samples.last?.decodeTime
            runs.append((id, run))
        }
        guard !runs.isEmpty else { return nil }
        if payload + length > size - min(checkedTail, size), try !isWhole(runs, at: offset, file.layout) { return nil }
        for (id, run) in runs {
            file.tables[id, default: SampleTable()].append(run.samples, at: UInt64(offset + run.offset))
        }
        return payload + length
    }

    private func isWhole(
        _ runs: [(id: UInt32, run: FragmentReader.Run)], at offset: Int64, _ layout: MovieLayout
    ) throws -> Bool {
        let check = PayloadCheck(layout)
        return try runs.allSatisfy { id, run in
            let kind = layout.tracks.first { $0.id == id }?.kind ?? .audio
            return try check.isWhole(run.samples, of: kind, at: offset + run.offset, in: source)
        }
    }
}
