// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import Media

/// One sample of a clip. Times are in ticks of the track.
package struct ClipSample: Sendable, Equatable {
    /// Decoding time; not decreasing.
    package var dts: Int64
    /// Presentation time; at least ``dts``.
    package var pts: Int64
    /// How long it lasts if nothing follows.
    package var duration: Int64
    /// Where its bytes begin in the clip.
    package var offset: Int64
    /// Bytes.
    package var size: Int64
    /// Whether decoding can start here.
    package var isSync: Bool

    /// A sample of these properties.
    package init(dts: Int64, pts: Int64, duration: Int64, offset: Int64, size: Int64, isSync: Bool) {
        (self.dts, self.pts, self.duration) = (dts, pts, duration)
        (self.offset, self.size, self.isSync) = (offset, size, isSync)
    }
}

/// One track of a clip.
package struct ClipTrack: Sendable {
    /// The samples in the order of decoding and of their places.
    package var samples: [ClipSample]
    /// What is shown first: nothing before it is.
    package var start: Int64

    /// A track of `samples` that begins at `start`.
    package init(samples: [ClipSample], start: Int64) { (self.samples, self.start) = (samples, start) }
}

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
        end = Int64(MovieBox.fileTypeSize + MovieBox.placeholderSize)
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
        var layout = MovieLayout(
            timescale: segment.audio?.layout.timescale ?? segment.video.layout.timescale,
            creationTime: tags.secondsSince1904, tracks: [], userData: tags.box)
        var tables: [UInt32: SampleTable] = [:]
        let tracks: [(ClipTrack?, IndexedTrack?)] = [(video, segment.video), (audio, segment.audio)]
        for (track, source) in tracks {
            guard let track, let source, let first = track.samples.first else { continue }
            var described = source.layout
            described.mediaTime = max(0, track.start - first.dts)
            let late = Int128(max(0, first.dts - track.start)) * Int128(layout.timescale)
            described.emptyEdit = Int64(clamping: late / Int128(max(1, described.timescale)))
            tables[described.id] = Self.table(track.samples, from: first.dts)
            layout.tracks.append(described)
        }
        _ = try HybridFinish.complete(descriptor, layout, tables, mediaEnd: end)
        try rename()
    }

    private static func table(_ samples: [ClipSample], from zero: Int64) -> SampleTable {
        var table = SampleTable()
        for sample in samples {
            let entry = SampleEntry(
                decodeTime: sample.dts - zero, duration: UInt32(clamping: sample.duration),
                compositionOffset: Int32(clamping: sample.pts - sample.dts), size: UInt32(clamping: sample.size),
                isSync: sample.isSync)
            table.append([entry], at: UInt64(clamping: sample.offset))
        }
        return table
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
