// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Encodes `ftyp` and `moov` (ISO/IEC 14496-12, 4.3 and 8.2), for open files and for closed files.
package struct MovieBox {
    /// The contents of the `moov` except for the samples.
    package let layout: MovieLayout
    /// The sample table of each track, by track ID; empty while the file is open.
    package let tables: [UInt32: SampleTable]

    /// The size of `ftyp` in bytes. It is the same for open and closed files.
    package static let fileTypeSize = 32
    /// The size of the `free` box after `ftyp`, in bytes. When the file is closed, a 64-bit `mdat` header replaces this
    /// box.
    package static let placeholderSize = 16
    /// The size of the head in bytes: `ftyp` and the box after it.
    package static let headSize = fileTypeSize + placeholderSize

    /// The head of an open file: `ftyp` and `free`. The brand `iso5` is required for `default-base-is-moof`.
    package static var openHead: [UInt8] {
        var writer = BoxWriter()
        fileType(major: "iso6", compatible: ["iso6", "iso5", "avc1", "mp41"], &writer)
        writer.box("free") { $0.zeros(8) }
        return writer.bytes
    }

    /// The head of a closed file: `ftyp` and the header of the single `mdat`. The `mdat` ends at the offset `end`.
    package static func closedHead(mediaEnd end: Int64) -> [UInt8] {
        var writer = BoxWriter()
        fileType(major: "isom", compatible: ["isom", "iso4", "avc1", "mp41"], &writer)
        writer.u32(1)
        writer.code("mdat")
        writer.u64(UInt64(end - Int64(fileTypeSize)))
        return writer.bytes
    }

    /// The head of a plain file whose `moov` precedes its single `mdat`. The `mdat` ends at the offset `end`. The head
    /// is `reserved` bytes longer than ``headSize``. If its length differs, the `moov` does not fit into the reserved
    /// space, and the head must not be used.
    package static func head(
        _ layout: MovieLayout, _ tables: [UInt32: SampleTable], reserved: Int64, mediaEnd end: Int64
    ) -> [UInt8] {
        let movie = closed(layout, tables)
        let start = Int64(headSize) + reserved
        var writer = BoxWriter()
        if layout.form == .mov {
            quickTimeFileType(&writer)
        } else {
            fileType(major: "isom", compatible: ["isom", "iso4", "avc1", "mp41"], &writer)
        }
        writer.raw(movie)
        let room = Int(clamping: reserved) - movie.count
        if room >= 8 { writer.box("free") { $0.zeros(room - 8) } }
        writer.u32(1)
        writer.code("mdat")
        writer.u64(UInt64(clamping: end - start + Int64(placeholderSize)))
        return writer.bytes
    }

    /// Whether `bytes` are exactly one of the `ftyp` boxes that relay writes.
    package static func isFileType(_ bytes: [UInt8]) -> Bool {
        var quickTime = BoxWriter()
        quickTimeFileType(&quickTime)
        return [openHead, closedHead(mediaEnd: 1 << 32), quickTime.bytes].contains {
            $0.prefix(fileTypeSize).elementsEqual(bytes)
        }
    }

    private static func quickTimeFileType(_ writer: inout BoxWriter) {
        fileType(major: "qt  ", compatible: ["qt  "] + Array(repeating: "\0\0\0\0", count: 3), &writer)
    }

    /// Whether `bytes` begin like the head of an open or closed recording, or are the beginning of such a head. The
    /// first 40 bytes are compared. Files with the head of ``head(_:_:reserved:mediaEnd:)`` are not recognized.
    package static func isHead(_ bytes: [UInt8]) -> Bool {
        let fixed = bytes.prefix(fileTypeSize + 8)
        return [openHead, closedHead(mediaEnd: 1 << 32)].contains { $0.prefix(fixed.count).elementsEqual(fixed) }
    }

    private static func fileType(major: String, compatible: [String], _ writer: inout BoxWriter) {
        writer.box("ftyp") { ftyp in
            ftyp.code(major)
            ftyp.u32(512)
            for brand in compatible { ftyp.code(brand) }
        }
    }

    /// Encodes the `moov` of an open file. It has no samples, but an `mvex`.
    package static func open(_ layout: MovieLayout) -> [UInt8] {
        MovieBox(layout: layout, tables: [:]).encode(isOpen: true)
    }

    /// Encodes the `moov` of a fragmented file all of whose samples are known. It differs from the `moov` of an open
    /// file only by the total duration.
    package static func open(_ movie: ClipMovie) -> [UInt8] {
        let whole = MovieBox(layout: movie.layout, tables: movie.tables)
        let duration = movie.layout.tracks.map(whole.presentationDuration).max()
        return MovieBox(layout: movie.layout, tables: [:]).encode(isOpen: true, lasting: duration)
    }

    /// Encodes the `moov` of a closed file. A track without samples is omitted.
    package static func closed(_ layout: MovieLayout, _ tables: [UInt32: SampleTable]) -> [UInt8] {
        MovieBox(layout: layout, tables: tables).encode(isOpen: false)
    }

    /// Encodes the `moov`. `duration` is the total duration of the fragments that follow, in movie ticks; nil if it is
    /// not known yet.
    private func encode(isOpen: Bool, lasting duration: Int64? = nil) -> [UInt8] {
        var writer = BoxWriter(capacity: 4096 + tables.values.reduce(0) { $0 + $1.count * 8 })
        let tracks = layout.tracks.filter { isOpen || table($0)?.isEmpty == false }
        writer.box("moov") { moov in
            movieHeader(duration: tracks.map(presentationDuration).max() ?? 0, &moov)
            for track in tracks { trak(track, &moov) }
            if isOpen {
                moov.box("mvex") { mvex in
                    if let duration { Self.extendsHeader(duration, &mvex) }
                    for track in tracks { trackExtends(track, &mvex) }
                }
            }
            moov.raw(layout.userData)
        }
        return writer.bytes
    }

    private func table(_ track: MovieLayout.Track) -> SampleTable? { tables[track.id] }

    private static func version(_ values: Int64...) -> UInt8 {
        values.contains { $0 > Int64(Int32.max) } ? 1 : 0
    }

    /// The visible duration of `track` in movie ticks, at most the track's `limit` or up to the layout's `end`. It is
    /// rounded up, so that the last frame is not cut off.
    func visibleDuration(_ track: MovieLayout.Track) -> Int64 {
        guard let table = table(track) else { return 0 }
        let ticks = max(0, table.presentationEnd - table.start - track.mediaTime)
        let product = Int128(ticks) * Int128(layout.timescale)
        let all = Int64(clamping: (product + Int128(track.timescale) - 1) / Int128(max(1, track.timescale)))
        if let limit = track.limit { return min(all, limit) }
        guard let end = layout.end else { return all }
        // Video ends at least two movie ticks before the end of the movie. A duration that is rounded up could
        // otherwise include the first frame of the next file.
        return min(all, max(0, end &- emptyDuration(track) &- (track.kind == .video ? Self.hair : 0)))
    }

    private static let hair: Int64 = 2

    /// The movie ticks before the first sample of `track`: its empty edit plus its first decoding time.
    func emptyDuration(_ track: MovieLayout.Track) -> Int64 {
        let late = Int128(table(track)?.start ?? 0) * Int128(layout.timescale) / Int128(max(1, track.timescale))
        return track.emptyEdit &+ Int64(clamping: late)
    }

    private func presentationDuration(_ track: MovieLayout.Track) -> Int64 {
        table(track) == nil ? 0 : emptyDuration(track) &+ visibleDuration(track)
    }

    private func movieHeader(duration: Int64, _ moov: inout BoxWriter) {
        let created = Int64(clamping: layout.creationTime)
        let version: UInt8 = duration > Int64(UInt32.max) || created > Int64(UInt32.max) ? 1 : 0
        moov.fullBox("mvhd", version: version) { box in
            box.time(created, version: version)
            box.time(created, version: version)
            box.u32(layout.timescale)
            box.time(duration, version: version)
            box.u32(0x10000)
            box.u16(0x100)
            box.zeros(10)
            for value in MovieLayout.unityMatrix { box.u32(value) }
            box.zeros(24)
            box.u32((layout.tracks.map(\.id).max() ?? 0) &+ 1)
        }
    }

    private func trak(_ track: MovieLayout.Track, _ moov: inout BoxWriter) {
        moov.box("trak") { trak in
            trackHeader(track, &trak)
            if track.kind == .video { chapterReference(&trak) }
            trak.box("edts") { editList(track, &$0) }
            trak.box("mdia") { mdia in
                mediaHeader(track, &mdia)
                let (type, name) = Self.handler(of: track.kind)
                handler(layout.form == .mov ? "mhlr" : nil, type, name, &mdia)
                mdia.box("minf") { minf in
                    mediaKindHeader(track, &minf)
                    if layout.form == .mov { handler("dhlr", "url ", "DataHandler", &minf) }
                    minf.box("dinf") { dinf in
                        dinf.fullBox("dref") { dref in
                            dref.u32(1)
                            dref.fullBox("url ", flags: 1) { _ in }
                        }
                    }
                    minf.box("stbl") { SampleTableBox.encode(track, table(track) ?? SampleTable(), layout.form, &$0) }
                }
            }
        }
    }

    /// Writes a `tref` box of type `chap`, by which the video track refers to the chapter track.
    private func chapterReference(_ trak: inout BoxWriter) {
        guard let chapters = layout.tracks.first(where: { $0.kind == .data }) else { return }
        trak.box("tref") { tref in
            tref.box("chap") { $0.u32(chapters.id) }
        }
    }

    private static func handler(of kind: TrackKind) -> (type: String, name: String) {
        switch kind {
        case .video: ("vide", "VideoHandler")
        case .audio: ("soun", "AudioHandler")
        case .data: (ChapterTrack.handler, "TextHandler")
        }
    }

    private func trackHeader(_ track: MovieLayout.Track, _ trak: inout BoxWriter) {
        let duration = presentationDuration(track)
        let created = Int64(clamping: layout.creationTime)
        let version: UInt8 = duration > Int64(UInt32.max) || created > Int64(UInt32.max) ? 1 : 0
        // The flags say that the track is part of the movie, and that it is enabled unless it is the chapter track
        // (8.3.2).
        trak.fullBox("tkhd", version: version, flags: track.kind == .data ? 2 : 3) { box in
            box.time(created, version: version)
            box.time(created, version: version)
            box.u32(track.id)
            box.u32(0)
            box.time(duration, version: version)
            box.zeros(8)
            box.u16(0)
            box.u16(0)
            box.u16(track.kind == .audio ? 0x100 : 0)
            box.u16(0)
            for value in track.matrix { box.u32(value) }
            box.u32(track.width)
            box.u32(track.height)
        }
    }

    /// Writes an `elst` box (8.6.6): an empty edit if the track begins late, and one edit from the first visible sample
    /// on.
    private func editList(_ track: MovieLayout.Track, _ edts: inout BoxWriter) {
        let empty = emptyDuration(track)
        let visible = visibleDuration(track)
        let version = Self.version(empty, visible, track.mediaTime)
        edts.fullBox("elst", version: version) { elst in
            elst.u32(empty > 0 ? 2 : 1)
            if empty > 0 {
                elst.time(empty, version: version)
                elst.time(-1, version: version)
                elst.u32(0x10000)
            }
            elst.time(visible, version: version)
            elst.time(track.mediaTime, version: version)
            elst.u32(0x10000)
        }
    }

    private func mediaHeader(_ track: MovieLayout.Track, _ mdia: inout BoxWriter) {
        let duration = table(track)?.duration ?? 0
        let created = Int64(clamping: layout.creationTime)
        let version: UInt8 = duration > Int64(UInt32.max) || created > Int64(UInt32.max) ? 1 : 0
        mdia.fullBox("mdhd", version: version) { box in
            box.time(created, version: version)
            box.time(created, version: version)
            box.u32(track.timescale)
            box.time(duration, version: version)
            box.u16(0x55C4)  // language code "und"
            box.u16(0)
        }
    }

    /// Writes an `hdlr` box (8.4.3). If `component` is given, the box has QuickTime's form, in which the length of the
    /// name comes before the name. Otherwise the name ends with a 0.
    private func handler(_ component: String?, _ type: String, _ name: String, _ box: inout BoxWriter) {
        box.fullBox("hdlr") { box in
            if let component { box.code(component) } else { box.u32(0) }
            box.code(type)
            box.zeros(12)
            if component != nil { box.u8(UInt8(clamping: name.utf8.count)) }
            box.code(name)
            if component == nil { box.u8(0) }
        }
    }

    private func mediaKindHeader(_ track: MovieLayout.Track, _ minf: inout BoxWriter) {
        switch track.kind {
        case .video: minf.fullBox("vmhd", flags: 1) { $0.zeros(8) }
        case .audio: minf.fullBox("smhd") { $0.zeros(4) }
        case .data: ChapterTrack.mediaHeader(&minf)
        }
    }

    /// Writes an `mehd` box (8.8.2). A player that has received only the beginning of the file knows the duration only
    /// from this box.
    private static func extendsHeader(_ duration: Int64, _ mvex: inout BoxWriter) {
        let version: UInt8 = duration > Int64(UInt32.max) ? 1 : 0
        mvex.fullBox("mehd", version: version) { $0.time(duration, version: version) }
    }

    /// Writes a `trex` box (8.8.3). By default a frame depends on other frames, and an audio packet does not.
    private func trackExtends(_ track: MovieLayout.Track, _ mvex: inout BoxWriter) {
        mvex.fullBox("trex") { trex in
            trex.u32(track.id)
            trex.u32(1)
            trex.u32(0)
            trex.u32(0)
            trex.u32(track.kind == .video ? Fragment.dependentFlags : Fragment.independentFlags)
        }
    }
}

/// Computes which part of a file is visible. The edit list may begin after the first sample or end before the last one.
extension MovieBox {
    /// Returns the numbers of visible frames and of visible audio samples in a file with these tracks.
    package static func shown(
        _ layout: MovieLayout, _ tables: [UInt32: SampleTable]
    ) -> (frames: Int, audioSamples: Int64) {
        let movie = MovieBox(layout: layout, tables: tables)
        let video = layout.tracks.first { $0.kind == .video }
        let audio = layout.tracks.first { $0.kind == .audio }
        return (video.map(movie.shownSamples) ?? 0, audio.map(movie.shownTicks) ?? 0)
    }

    /// The duration of the part of `track` that its edit list presents, in ticks of the track.
    func shownTicks(_ track: MovieLayout.Track) -> Int64 {
        guard let table = tables[track.id] else { return 0 }
        let all = max(0, table.presentationEnd - table.start - track.mediaTime)
        let ticks = Int128(visibleDuration(track)) * Int128(track.timescale)
        let scale = Int128(max(1, layout.timescale))
        return min(all, Int64(clamping: (ticks + scale / 2) / scale))
    }

    /// The number of samples of `track` that begin in its visible part.
    private func shownSamples(_ track: MovieLayout.Track) -> Int {
        guard let table = tables[track.id] else { return 0 }
        let first = table.start + track.mediaTime
        let shown = first..<first + shownTicks(track)
        return table.presentationTimes.count { shown.contains($0) }
    }
}

extension SampleTable {
    /// The presentation times of all samples, in decoding order.
    var presentationTimes: [Int64] {
        var times: [Int64] = []
        times.reserveCapacity(count)
        var time = start
        for run in durations.runs {
            for _ in 0..<run.count {
                times.append(time)
                time += Int64(run.value)
            }
        }
        var index = 0
        for run in compositionOffsets.runs {
            for _ in 0..<Int(run.count) where index < times.count {
                times[index] += Int64(run.value)
                index += 1
            }
        }
        return times
    }
}
