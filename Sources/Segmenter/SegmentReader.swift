// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Media

/// What a file of a recording says about itself: its tags and its sample tables. No media is read.
package struct SegmentFacts: Sendable, Equatable {
    /// The channel's name.
    package var channel: String
    /// When the first frame was on air, by the wall clock.
    package var start: UTCTime
    /// Where the file lies in its program; nil in a file of a version that did not say it.
    package var position: SegmentPosition?
    /// The file's size.
    package var bytes: Int64
    /// Whether the file is a plain MP4; if not, it is a fragmented one that was left open, or meant to be one.
    package var isClosed: Bool
    /// The video track.
    package var video: TrackFacts
    /// The audio track; nil if the file holds no audio.
    package var audio: TrackFacts?
    /// What is wrong with the tables, one sentence each.
    package var problems: [String]

    /// How long the frames last, in nanoseconds.
    package var duration: Int64 { video.nanoseconds(video.shown) }
    /// How long one frame lasts, in nanoseconds.
    package var frameDuration: Int64 { video.nanoseconds(video.sampleDuration) }
}

/// What the tables of one track come to. Times are in ticks of the track.
package struct TrackFacts: Sendable, Equatable {
    /// Ticks a second.
    package var timescale: Int64
    /// Frames or packets of audio, hidden ones included.
    package var samples: Int
    /// Ticks from the file's first frame to what the track shows first.
    package var offset: Int64
    /// Ticks that are shown or heard.
    package var shown: Int64
    /// How long most samples last.
    package var sampleDuration: Int64
    /// From the first sample that is shown to the last one.
    package var lastSample: Int64
    /// Ticks from the first sample that is shown to the first one that is missing before the end: what is decoded
    /// early is written early, and a file that ends suddenly may hold a frame without the one before it. Otherwise
    /// the same as ``shown``.
    package var whole: Int64
    /// Samples behind ``whole``.
    package var lateSamples: Int

    /// `ticks` in nanoseconds.
    package func nanoseconds(_ ticks: Int64) -> Int64 {
        TimeBase(1, Int32(clamping: timescale)).rescale(ticks, to: .nanoseconds)
    }
}

/// Why ``SegmentReader`` can say nothing of a file.
package enum SegmentReadFailure: Error, Sendable, Equatable, CustomStringConvertible {
    /// The system says no.
    case file(FileFailure)
    /// It is no recording of this program.
    case foreign(String)
    /// It begins as a recording does, and goes on otherwise.
    case damaged(String)

    package var description: String {
        switch self {
        case .file(let failure): failure.description
        case .foreign(let reason): "it is not a recording of relay: \(reason)"
        case .damaged(let reason): "it is damaged: \(reason)"
        }
    }
}

/// Reads the tables of files that ``SegmentFile`` wrote, closed or open, and refuses all others. What it reads is
/// bounded by the file's own size, and nobody vouches for any of it.
package enum SegmentReader {
    /// A day and more of program; nobody's table is longer.
    private static let movieLimit: Int64 = 256 << 20
    /// Nanoseconds at which a file of a program may begin: 36 years, in a sum of which nothing overflows.
    private static let latestStart: Int64 = 1 << 60
    /// A year, in seconds: longer than any file.
    static let longestTime: Int64 = 31_536_000

    /// The facts of the file at `path`. Blocks on the disk.
    package static func read(_ path: String) throws(SegmentReadFailure) -> SegmentFacts {
        try open(path) { try facts($0) }
    }

    /// What `body` makes of the file at `path`, which must be a regular one.
    static func open<Result>(
        _ path: String, _ body: (FileDescriptor) throws -> Result
    ) throws(SegmentReadFailure) -> Result {
        do {
            let descriptor = try FileDescriptor.open(readOnly: path)
            guard try descriptor.attributes().isRegular else {
                throw SegmentReadFailure.foreign("it is not a regular file")
            }
            return try body(descriptor)
        } catch let failure as FileFailure {
            if failure.code == ELOOP { throw .foreign("it is a symbolic link") }
            throw .file(failure)
        } catch let failure as SegmentReadFailure {
            throw failure
        } catch {
            throw .damaged("\(error)")
        }
    }

    /// The run that the open file at `path` belongs to, as its head says; nil if it says none or cannot be read.
    package static func run(ofOpen path: String) -> String? {
        guard let descriptor = try? FileDescriptor.open(readOnly: path),
            let layout = try? FragmentedFileReader(descriptor).readHead()?.layout
        else { return nil }
        return (try? MovieTagsReader.tags(layout.userData))?.position?.run
    }

    static func facts(_ descriptor: FileDescriptor) throws -> SegmentFacts {
        try facts(descriptor, try movie(descriptor))
    }

    static func facts(
        _ descriptor: FileDescriptor, _ movie: (layout: MovieLayout, tables: [UInt32: SampleTable], isClosed: Bool)
    ) throws -> SegmentFacts {
        let size = try descriptor.attributes().size
        let (layout, tables, isClosed) = movie
        guard let tags = try MovieTagsReader.tags(layout.userData) else {
            throw SegmentReadFailure.foreign("its tags are those of another program")
        }
        guard let track = layout.tracks.first(where: { $0.kind == .video }), let table = tables[track.id],
            !table.isEmpty
        else { throw MP4Failure(description: "it holds no video") }
        var problems: [String] = []
        var facts: [TrackKind: TrackFacts] = [:]
        for track in layout.tracks {
            guard let table = tables[track.id], !table.isEmpty else { continue }
            let check = TrackCheck(
                layout: layout, track: track, table: table, isClosed: isClosed,
                endsSuddenly: tags.position.map { ![.rotate, .stop].contains($0.ending) } ?? !isClosed)
            // Whoever puts files one behind the other adds such times, which fit in with room for a few thousand.
            let limit = check.facts.timescale * longestTime
            guard check.facts.shown <= limit, check.facts.offset <= limit else {
                throw MP4Failure(description: "its times are absurd")
            }
            facts[track.kind] = check.facts
            problems += check.problems(media: Int64(MovieBox.fileTypeSize + MovieBox.placeholderSize)..<size)
        }
        guard let video = facts[.video] else { throw MP4Failure(description: "it holds no video") }
        guard (0..<latestStart).contains(tags.position?.programStart ?? 0) else {
            throw MP4Failure(description: "its place in the program is absurd")
        }
        return SegmentFacts(
            channel: tags.channel, start: tags.start, position: tags.position, bytes: size, isClosed: isClosed,
            video: video, audio: facts[.audio], problems: problems)
    }

    /// Whether the file type box is one of the two that this program writes.
    static func isOurs(_ head: [UInt8]) -> Bool {
        let heads = [MovieBox.openHead, MovieBox.closedHead(mediaEnd: 1 << 32)]
        return heads.contains { $0.prefix(MovieBox.fileTypeSize).elementsEqual(head) }
    }

    static func movie(
        _ descriptor: FileDescriptor
    ) throws -> (layout: MovieLayout, tables: [UInt32: SampleTable], isClosed: Bool) {
        let head = try descriptor.read(at: 0, count: MovieBox.fileTypeSize)
        guard isOurs(head) else { throw SegmentReadFailure.foreign("it does not begin as one") }
        switch try FragmentedFileReader(descriptor).read() {
        case .open(let file): return (file.layout, file.tables, false)
        case .closed(let range):
            guard range.count <= movieLimit else { throw MP4Failure(description: "its index is absurdly large") }
            let bytes = try descriptor.read(at: range.lowerBound, count: range.count)
            let movie = BoxReader(bytes.dropFirst(8))
            let layout = try MovieReader.layout(movie)
            var tables: [UInt32: SampleTable] = [:]
            let boxes = try movie.boxes().filter { $0.type == "trak" }
            for (track, box) in zip(layout.tracks, boxes) {
                let stbl = try box.body.first("mdia").first("minf").first("stbl")
                tables[track.id] = try SampleTableReader.table(stbl, kind: track.kind)
            }
            return (layout, tables, true)
        }
    }
}
