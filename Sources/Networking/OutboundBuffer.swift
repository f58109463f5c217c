// SPDX-License-Identifier: Apache-2.0

package import CLinux
internal import DequeModule
internal import Glibc
package import Media

/// Bytes that wait until a socket accepts them. The buffer holds references to shared bytes, in order, and does not
/// copy them.
///
/// The sender gets the bytes from ``withVectors(limit:_:)``, and tells ``consume(_:)`` how many of them the socket
/// accepted.
package struct OutboundBuffer {
    private struct Piece {
        let bytes: SharedBytes
        var start: Int
        let end: Int
        let endsFrame: Bool
        /// The position of ``bytes`` in a file, if a file contains them. The kernel can send them from that file
        /// without a copy.
        let place: SharedFile.Place?
    }

    private var pieces = Deque<Piece>()
    /// Bytes that the socket has not accepted yet.
    package private(set) var pendingBytes = 0
    /// The number of frames whose last byte the socket has not accepted yet.
    package private(set) var pendingFrames = 0

    package init() {}

    /// Whether no bytes wait. The test uses the number of bytes and not the pieces, because the pieces may not be in
    /// the processor's cache.
    package var isEmpty: Bool { pendingBytes == 0 }

    /// Appends a part of `bytes`; `endsFrame` marks the last byte of a frame.
    package mutating func append(
        _ bytes: SharedBytes, _ range: Range<Int>, endsFrame: Bool = false, place: SharedFile.Place? = nil
    ) {
        guard !range.isEmpty else { return }
        pieces.append(
            Piece(bytes: bytes, start: range.lowerBound, end: range.upperBound, endsFrame: endsFrame, place: place))
        pendingBytes += range.count
        if endsFrame { pendingFrames += 1 }
    }

    /// Appends all of `bytes`. `place` is their position in a file, if a file contains them too.
    package mutating func append(_ bytes: SharedBytes, endsFrame: Bool = false, place: SharedFile.Place? = nil) {
        append(bytes, 0..<bytes.count, endsFrame: endsFrame, place: place)
    }

    /// The file position of the first piece in the buffer, and the number of its bytes; nil if no file contains the
    /// piece.
    var placeOfHead: (SharedFile.Place, count: Int)? {
        guard let head = pieces.first, let place = head.place else { return nil }
        return (SharedFile.Place(file: place.file, start: place.start + head.start), head.end - head.start)
    }

    /// Copies the whole buffer into one piece of memory.
    package func joined() -> SharedBytes {
        SharedBytes(count: pendingBytes) { copy in
            var position = 0
            for piece in pieces {
                piece.bytes.withUnsafeBytes { bytes in
                    UnsafeMutableRawBufferPointer(rebasing: copy[position...]).copyMemory(
                        from: UnsafeRawBufferPointer(rebasing: bytes[piece.start..<piece.end]))
                }
                position += piece.end - piece.start
            }
        }
    }

    /// Calls `body` with the first pieces of the buffer as vectors, at most `limit` of them, without a copy. They are
    /// valid only during the call.
    package func withVectors<R>(limit: Int = 64, _ body: (UnsafeMutableBufferPointer<iovec>) -> R) -> R {
        let count = min(limit, pieces.count)
        return withUnsafeTemporaryAllocation(of: iovec.self, capacity: max(count, 1)) { vectors in
            for index in 0..<count {
                let piece = pieces[index]
                let vector = piece.bytes.withUnsafeBytes { bytes in
                    // sendmsg only reads through this pointer; iovec has no constant form.
                    iovec(
                        iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress.map { $0 + piece.start }),
                        iov_len: piece.end - piece.start)
                }
                vectors.initializeElement(at: index, to: vector)
            }
            return body(UnsafeMutableBufferPointer(rebasing: vectors[..<count]))
        }
    }

    /// Removes the first `count` bytes. Returns how many frames ended in these bytes.
    package mutating func consume(_ count: Int) -> Int {
        var remaining = min(count, pendingBytes)
        var frames = 0
        pendingBytes -= remaining
        while remaining > 0, let piece = pieces.first {
            let length = piece.end - piece.start
            guard length <= remaining else {
                pieces[0].start += remaining
                break
            }
            remaining -= length
            if piece.endsFrame { frames += 1 }
            pieces.removeFirst()
        }
        pendingFrames -= frames
        return frames
    }
}

/// An unlinked temporary file whose pages the kernel sends to many sockets without copies.
///
/// `sendfile` gives a socket references to the file's pages, while `sendmsg` copies the bytes for each socket. The file
/// is append-only, so bytes that wait in a socket do not change.
package final class SharedFile: Sendable {
    /// A position in the file.
    package struct Place: Sendable {
        let file: SharedFile
        let start: Int
    }

    /// Frames are appended to a file until the file has this size. A new file for each frame would cost as much as
    /// copying the frame for a dozen sockets.
    private static let wholeBytes = 1 << 20

    let descriptor: CInt

    /// An empty file; nil if the kernel refuses.
    package init?() {
        descriptor = memfd_create("relay-rtmp", UInt32(MFD_CLOEXEC))
        if descriptor < 0 { return nil }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Appends `bytes`. Returns their position; nil if the file is full or the kernel has no space. Only one thread at
    /// a time may call it.
    package func append(_ bytes: SharedBytes) -> Place? {
        let start = Int(lseek(descriptor, 0, SEEK_CUR))
        guard start >= 0, start < Self.wholeBytes else { return nil }
        let written = bytes.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        return written == bytes.count ? Place(file: self, start: start) : nil
    }
}
