// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import MP4
internal import Media

/// The last steps of writing a recording's file; they are the same for a regular close and after a crash.
package enum HybridFinish {
    /// Appends the complete `moov` at `mediaEnd` and overwrites the head with the head of a plain MP4. Returns the
    /// file's size.
    ///
    /// The order matters. Until one call overwrites the 48 bytes of the head, the file is a valid fragmented MP4 with a
    /// second `moov` at its end. The head must be on the disk before the file gets its final name.
    package static func complete(
        _ descriptor: FileDescriptor, _ layout: MovieLayout, _ tables: [UInt32: SampleTable], mediaEnd: Int64
    ) throws(FileFailure) -> Int64 {
        let size = try appendMovie(descriptor, layout, tables, mediaEnd: mediaEnd)
        try seal(descriptor, mediaEnd: mediaEnd, size: size)
        return size
    }

    /// The first half of ``complete(_:_:_:mediaEnd:)``: appends the `moov` and returns the file's size. Does not wait
    /// for the disk. Afterwards the file is still a fragmented MP4.
    package static func appendMovie(
        _ descriptor: FileDescriptor, _ layout: MovieLayout, _ tables: [UInt32: SampleTable], mediaEnd: Int64
    ) throws(FileFailure) -> Int64 {
        let moov = SharedBytes(MovieBox.closed(layout, tables))
        do {
            try descriptor.write([moov], at: mediaEnd)
        } catch {
            // Drops the incomplete `moov`, not the media.
            try? descriptor.truncate(to: mediaEnd)
            throw error
        }
        return mediaEnd + Int64(moov.count)
    }

    /// The second half of ``complete(_:_:_:mediaEnd:)``: waits until everything except the new head is on the disk,
    /// overwrites the head, and waits until the head is on the disk. If `isDurable` is false, this method does not
    /// wait. A crash of relay then still does no harm, but a loss of power can damage the file.
    package static func seal(
        _ descriptor: FileDescriptor, mediaEnd: Int64, size: Int64, isDurable: Bool = true
    ) throws(FileFailure) {
        do {
            if isDurable { try descriptor.synchronise() }
            try descriptor.write([SharedBytes(MovieBox.closedHead(mediaEnd: mediaEnd))], at: 0)
        } catch {
            // The head is overwritten completely or not at all. After a failure, the file without the `moov` is a
            // fragmented MP4 again.
            try? descriptor.truncate(to: mediaEnd)
            throw error
        }
        // Releases the space that was reserved beyond the end. If this or a later call fails, the file still appears
        // complete, so nothing is undone.
        try descriptor.truncate(to: size)
        if isDurable { try descriptor.synchronise() }
    }

    /// Gives the open file `name` below `directory` its final name, like ``rename(_:in:isDurable:)``.
    static func rename(_ name: SegmentName, below directory: String) throws(FileFailure) -> String {
        try rename(name, in: try FileDescriptor.open(parentOf: name.open, in: directory))
    }

    /// Gives the open file `name` in the directory `parent` its final name, and returns that name. Never overwrites an
    /// existing file: if a name is taken, a number is appended. Waits for the disk only if `isDurable` is set.
    package static func rename(
        _ name: SegmentName, in parent: FileDescriptor, isDurable: Bool = true
    ) throws(FileFailure) -> String {
        for attempt in 0..<1000 {
            let target = name.closed(attempt: attempt)
            guard try parent.rename(entry: name.open, to: target) else { continue }
            if isDurable { parent.synchroniseEntries() }
            return target
        }
        throw FileFailure("rename", "\(parent.path)/\(name.open)", code: EEXIST)
    }
}
