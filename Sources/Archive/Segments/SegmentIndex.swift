// SPDX-License-Identifier: Apache-2.0

package import MP4
internal import Media

/// The tables of all samples of a recording's file, which stays open so that the samples can be copied.
package final class SegmentIndex {
    /// The file's own metadata.
    package let facts: SegmentFacts
    /// The video track.
    package let video: IndexedTrack
    /// The audio track, if there is one.
    package let audio: IndexedTrack?
    /// The encoder's settings in its own syntax; empty if the file does not contain them.
    package let encoderSettings: String
    /// The open file, for a caller that copies its samples.
    package let descriptor: FileDescriptor

    /// Reads the tables of the file at `path`. Blocks on the disk.
    package static func read(_ path: String) throws(SegmentReadFailure) -> SegmentIndex {
        try SegmentReader.open(path) { try SegmentIndex($0) }
    }

    /// Reads the tables of an open file, which remains the same file even if it is renamed. Blocks on the disk.
    package static func read(_ descriptor: FileDescriptor) throws(SegmentReadFailure) -> SegmentIndex {
        try SegmentReader.reading { try SegmentIndex(descriptor) }
    }

    private init(_ descriptor: FileDescriptor) throws {
        let movie = try SegmentReader.movie(descriptor)
        let facts = try SegmentReader.facts(descriptor, movie)
        if let problem = facts.problems.first { throw MP4Failure(description: problem) }
        func track(_ kind: TrackKind, _ facts: TrackFacts?) throws(MP4Failure) -> IndexedTrack? {
            guard let facts, let layout = movie.layout.tracks.first(where: { $0.kind == kind }),
                let table = movie.tables[layout.id]
            else { return nil }
            return try IndexedTrack(layout, table, facts)
        }
        guard facts.frames > 0, let video = try track(.video, facts.leading) else {
            throw SegmentReadFailure.audioAlone
        }
        self.video = video
        audio = try track(.audio, facts.audio)
        encoderSettings = try MovieTagsReader.tags(movie.layout.userData)?.encoderSettings ?? ""
        self.facts = facts
        self.descriptor = descriptor
    }
}
