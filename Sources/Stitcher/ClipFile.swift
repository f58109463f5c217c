// SPDX-License-Identifier: Apache-2.0

package import Archive
internal import Glibc
package import MP4
package import Media

/// A plain MP4 that is made of pieces of recordings. It has a hidden name until it is finished; what is not finished
/// is removed.
package final class ClipFile {
    private let descriptor: FileDescriptor
    private let path: String
    private let replaces: Bool
    private var end: Int64
    private var isFinished = false

    /// Begins the file `path`, which must not exist, unless it `replaces` what does.
    package init(_ path: String, replaces: Bool) throws(FileFailure) {
        self.path = path
        self.replaces = replaces
        var info = stat()
        if lstat(path, &info) == 0 {
            guard replaces else { throw FileFailure("create", path, code: EEXIST) }
            guard info.st_mode & S_IFMT == S_IFREG else {
                throw FileFailure("replace", path, text: "it is not a regular file")
            }
        }
        let slash = path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex
        let hidden = ".\(path[slash...].prefix(200)).\(getpid())-\(UInt32.random(in: 0 ... .max)).part"
        descriptor = try .create("\(path[..<slash])\(hidden)")
        end = Int64(MovieBox.headSize)
    }

    deinit { if !isFinished { unlink(descriptor.path) } }

    /// Appends `range` of the file of `segment`, and returns where it lies.
    package func copy(_ range: Range<Int64>, of segment: SegmentIndex) throws(FileFailure) -> Int64 {
        let offset = end
        try descriptor.copy(range, of: segment.descriptor, to: offset)
        end += Int64(range.count)
        return offset
    }

    /// Appends `bytes`, and returns where they lie.
    package func append(_ bytes: SharedBytes) throws(FileFailure) -> Int64 {
        let offset = end
        try descriptor.write([bytes], at: offset)
        end += Int64(bytes.count)
        return offset
    }

    /// Completes the file, whose tracks are coded as those of `segment` are and whose first frame was on air at
    /// `start`, and gives it its name.
    package func finish(
        video: ClipTrack, audio: ClipTrack?, like segment: SegmentIndex, start: UTCTime, version: String
    ) throws(FileFailure) {
        let tags = MovieTags(
            channel: segment.facts.channel, start: start, encoderSettings: segment.encoderSettings, version: version)
        let clip = ClipMovie(
            video: (video, segment.video), audio: audio.flatMap { track in segment.audio.map { (track, $0) } },
            creationTime: tags.secondsSince1904, userData: tags.box)
        _ = try HybridFinish.complete(descriptor, clip.layout, clip.tables, mediaEnd: end)
        try rename()
    }

    private func rename() throws(FileFailure) {
        if replaces {
            guard Glibc.rename(descriptor.path, path) == 0 else { throw FileFailure("create", path, code: errno) }
        } else if try !FileDescriptor.rename(descriptor.path, to: path) {
            throw FileFailure("create", path, code: EEXIST)
        }
        isFinished = true
        FileDescriptor.synchroniseDirectory(of: path)
    }
}
