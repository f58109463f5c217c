// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import MP4
internal import Media

/// Reads the tables of MP4 files that relay wrote, closed or open, and refuses all other files. The reader reads at
/// most as much as the file's size allows, and checks all content before it uses it.
package enum SegmentReader {
    /// The latest start of a file in its program, 36 years, so that sums do not overflow.
    private static let latestStart = ProgramInstant(nanoseconds: 1 << 60)

    /// Reads the tags and the sample tables of the file at `path`, and returns what they say about the file. Blocks on
    /// the disk.
    package static func read(_ path: String) throws(SegmentReadFailure) -> SegmentFacts {
        try open(path) { try facts($0) }
    }

    /// Returns the result of `body` for the file at `path`, which must be a regular file.
    static func open<Result>(
        _ path: String, _ body: (FileDescriptor) throws -> Result
    ) throws(SegmentReadFailure) -> Result {
        try reading {
            let descriptor = try FileDescriptor.open(readOnly: path)
            guard try descriptor.attributes().isRegular else {
                throw SegmentReadFailure.foreign("it is not a regular file")
            }
            return try body(descriptor)
        }
    }

    /// Returns the result of `body`, and converts its error to a ``SegmentReadFailure``.
    static func reading<Result>(_ body: () throws -> Result) throws(SegmentReadFailure) -> Result {
        do {
            return try body()
        } catch let failure as FileFailure {
            if failure.code == ELOOP { throw .foreign("it is a symbolic link") }
            throw .file(failure)
        } catch let failure as SegmentReadFailure {
            throw failure
        } catch {
            throw .damaged("\(error)")
        }
    }

    /// Returns the identifier of the recorder's run from the head of the open file at `path`; nil if the head does not
    /// contain it or cannot be read.
    package static func run(ofOpen path: String) -> String? {
        guard let descriptor = try? FileDescriptor.open(readOnly: path),
            let layout = try? FragmentedFileReader(descriptor).readHead()?.layout
        else { return nil }
        return (try? MovieTagsReader.tags(layout.userData))?.position?.run
    }

    private static func facts(_ descriptor: FileDescriptor) throws -> SegmentFacts {
        try facts(descriptor, try movie(descriptor))
    }

    static func facts(_ descriptor: FileDescriptor, _ movie: MovieFile) throws -> SegmentFacts {
        let size = try descriptor.size()
        let (layout, tables, isClosed) = (movie.layout, movie.tables, movie.isClosed)
        guard let tags = try MovieTagsReader.tags(layout.userData) else {
            throw SegmentReadFailure.foreign("its tags are those of another program")
        }
        let kind = layout.tracks.contains { $0.kind == .video } ? TrackKind.video : .audio
        var problems: [String] = []
        var facts: [TrackKind: TrackFacts] = [:]
        for track in layout.tracks {
            guard let table = tables[track.id], !table.isEmpty else { continue }
            let check = TrackCheck(
                layout: layout, track: track, table: table, isClosed: isClosed,
                endsSuddenly: tags.position.map { ![.rotate, .stop].contains($0.ending) } ?? !isClosed,
                // relay's encoder stores its settings, so their absence means that the packets were copied.
                isCopied: tags.encoderSettings.isEmpty, isTrimmed: tags.position?.isTrimmed ?? false)
            // Files with longer tracks or larger offsets are refused. Code that joins files adds up these times, and
            // the sum for a few thousand files must not overflow.
            let limit = check.facts.timescale * TrackFacts.longestTime
            guard check.facts.shown <= limit, check.facts.offset <= limit else {
                throw MP4Failure(description: "its times are absurd")
            }
            facts[track.kind] = check.facts
            problems += check.problems(media: Int64(MovieBox.headSize)..<size)
        }
        guard let leading = facts[kind] else { throw MP4Failure(description: "it holds no \(kind)") }
        guard (.zero..<latestStart).contains(tags.position?.programStart ?? .zero) else {
            throw MP4Failure(description: "its place in the program is absurd")
        }
        return SegmentFacts(
            channel: tags.channel, start: tags.start, position: tags.position, bytes: size, isClosed: isClosed,
            leading: leading, frames: facts[.video]?.samples ?? 0, audio: facts[.audio], problems: problems)
    }

    /// Returns the tables of the file, which must begin like a file of relay.
    static func movie(_ descriptor: FileDescriptor) throws -> MovieFile {
        guard MovieBox.isFileType(try descriptor.read(at: 0, count: MovieBox.fileTypeSize)) else {
            throw SegmentReadFailure.foreign("it does not begin as one")
        }
        return try MovieFile.read(descriptor)
    }
}

/// A recording's own metadata: its tags and its sample tables. No media is read.
package struct SegmentFacts: Sendable, Equatable {
    /// The channel's name.
    package var channel: String
    /// When the first frame was on air, by the wall clock.
    package var start: UTCTime
    /// The file's position in its program; nil in a file from a version that did not write it.
    package var position: SegmentPosition?
    /// The file's size in bytes.
    package var bytes: Int64
    /// Whether the file is a plain MP4. Otherwise it is a fragmented MP4, which was left open or was recorded in that
    /// format.
    package var isClosed: Bool
    /// The track to which the file's times refer: the video, or the audio if there is no video.
    package var leading: TrackFacts
    /// The number of frames; 0 in a file without video.
    package var frames: Int
    /// The audio track; nil if the file holds no audio.
    package var audio: TrackFacts?
    /// The errors in the tables, one sentence each.
    package var problems: [String]

    /// The duration of the leading track, in nanoseconds.
    package var duration: Int64 { leading.nanoseconds(leading.shown) }
    /// The duration of one frame or packet of the leading track, in nanoseconds.
    package var frameDuration: Int64 { leading.nanoseconds(leading.sampleDuration) }
}

/// Why ``SegmentReader`` cannot read a file.
package enum SegmentReadFailure: Error, Sendable, Equatable, CustomStringConvertible {
    /// A file operation failed.
    case file(FileFailure)
    /// The file is not a recording of relay.
    case foreign(String)
    /// The file begins like a recording, but is damaged.
    case damaged(String)
    /// The file is a recording without video, but video was requested.
    case audioAlone

    package var description: String {
        switch self {
        case .file(let failure): failure.description
        case .foreign(let reason): "it is not a recording of relay: \(reason)"
        case .damaged(let reason): "it is damaged: \(reason)"
        case .audioAlone: "it holds audio alone, and no video"
        }
    }
}
