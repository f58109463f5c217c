// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import MP4
internal import Media

/// The last steps of a file, the same at a regular close and after a crash.
package enum HybridFinish {
    /// Appends the complete `moov` at `mediaEnd` and turns the head into that of a plain MP4. Returns the file's size.
    ///
    /// The order matters: until the 48 bytes of the head are overwritten, in one call, the file is a valid fragmented
    /// one with a second `moov` at its end; and the head must be on the disk before the name says that it is.
    package static func complete(
        _ descriptor: FileDescriptor, _ layout: MovieLayout, _ tables: [UInt32: SampleTable], mediaEnd: Int64
    ) throws(FileFailure) -> Int64 {
        let size = try appendMovie(descriptor, layout, tables, mediaEnd: mediaEnd)
        try seal(descriptor, mediaEnd: mediaEnd, size: size)
        return size
    }

    /// The first half of ``complete(_:_:_:mediaEnd:)``: appends the `moov` and returns the file's size. Does not wait for
    /// the disk. The file still is a fragmented one.
    package static func appendMovie(
        _ descriptor: FileDescriptor, _ layout: MovieLayout, _ tables: [UInt32: SampleTable], mediaEnd: Int64
    ) throws(FileFailure) -> Int64 {
        let moov = SharedBytes(MovieBox.closed(layout, tables))
        do {
            try descriptor.write([moov], at: mediaEnd)
        } catch {
            // The tail is dropped, not the media.
            try? descriptor.truncate(to: mediaEnd)
            throw error
        }
        return mediaEnd + Int64(moov.count)
    }

    /// The second half: overwrites the head when all else is on the disk, and waits until that is, too. Without
    /// `isDurable` nothing waits for the disk: a crash of the program still harms nothing, a loss of power may.
    package static func seal(
        _ descriptor: FileDescriptor, mediaEnd: Int64, size: Int64, isDurable: Bool = true
    ) throws(FileFailure) {
        do {
            if isDurable { try descriptor.synchronise() }
            try descriptor.write([SharedBytes(MovieBox.closedHead(mediaEnd: mediaEnd))], at: 0)
        } catch {
            // If the head was reached, it has been written whole or not at all.
            try? descriptor.truncate(to: mediaEnd)
            throw error
        }
        // Gives back the space that was reserved behind the end. A failure from here on leaves a file that is whole as
        // far as anyone can see: nothing is taken back.
        try descriptor.truncate(to: size)
        if isDurable { try descriptor.synchronise() }
    }

    /// Gives the open file `name` below `directory` its final name, as ``rename(_:in:isDurable:)`` does.
    static func rename(_ name: SegmentName, below directory: String) throws(FileFailure) -> String {
        try rename(name, in: try FileDescriptor.open(parentOf: name.open, in: directory))
    }

    /// Gives the open file `name`, which is in the directory `parent`, its final name and returns that. An existing file is
    /// never overwritten: a name that is taken gets a number behind it. Without `isDurable` it does not wait for the disk.
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
