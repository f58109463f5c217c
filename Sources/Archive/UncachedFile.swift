// SPDX-License-Identifier: Apache-2.0

internal import CLinux
internal import Glibc
internal import MP4

/// A file as it is on the disk. When the disk refuses what was written, Linux keeps it in memory and answers the next
/// `fsync` with success, so that a normal read finds data that no later reader ever will.
///
/// It asks the system to forget the file, and reads past the system's memory (`O_DIRECT`, open(2)). Where the file
/// system cannot, which some say only when they are asked to read, it reads the usual way.
final class UncachedFile: ByteSource {
    /// `pread(2)`: sets `errno` and returns -1 if it fails.
    typealias ReadCall = (_ file: CInt, _ buffer: UnsafeMutableRawBufferPointer, _ offset: Int) -> Int

    private let number: CInt
    private let path: String
    private var isDirect: Bool
    private let readCall: ReadCall
    /// The part that was read last, from ``windowStart`` on. A reader of a file's boxes reads many times in one place.
    private let window: UnsafeMutableRawBufferPointer
    private var windowStart: Int64 = 0
    private var windowCount = 0

    /// More than any device's block: places and lengths must be multiples of it.
    private static let alignment = 4096
    private static let windowSize = 1 << 18

    /// Opens `path`, which must not be a symbolic link.
    init(_ path: String, read: @escaping ReadCall = { pread($0, $1.baseAddress, $1.count, $2) }) throws(FileFailure) {
        (self.path, readCall) = (path, read)
        let flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK
        let direct = Glibc.open(path, flags | relay_o_direct)
        isDirect = direct >= 0
        number = isDirect ? direct : Glibc.open(path, flags)
        guard number >= 0 else { throw FileFailure("open", path, code: errno) }
        posix_fadvise(number, 0, 0, POSIX_FADV_DONTNEED)
        window = .allocate(byteCount: Self.windowSize, alignment: Self.alignment)
    }

    deinit {
        close(number)
        window.deallocate()
    }

    func size() throws -> Int64 {
        var info = stat()
        guard fstat(number, &info) == 0 else { throw FileFailure("stat", path, code: errno) }
        return Int64(info.st_size)
    }

    func read(at offset: Int64, count: Int) throws -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        while bytes.count < count {
            let position = offset + Int64(bytes.count)
            if position < windowStart || position >= windowStart + Int64(windowCount) { try fill(at: position) }
            let skip = Int(position - windowStart)
            guard skip < windowCount else { break }
            bytes.append(contentsOf: window[skip..<min(windowCount, skip + count - bytes.count)])
        }
        return bytes
    }

    /// Reads the window that `position` lies in.
    private func fill(at position: Int64) throws(FileFailure) {
        windowStart = position / Int64(Self.alignment) * Int64(Self.alignment)
        windowCount = 0
        var got: Int
        repeat {
            got = readCall(number, window, Int(windowStart))
        } while got < 0 && (errno == EINTR || (errno == EINVAL && readsUsually()))
        guard got >= 0 else { throw FileFailure("read", path, code: errno) }
        windowCount = got
    }

    /// Gives up reading past the system's memory; false if that was done before, or cannot be.
    private func readsUsually() -> Bool {
        let flags = fcntl(number, F_GETFL)
        guard isDirect, flags >= 0, fcntl(number, F_SETFL, flags & ~relay_o_direct) == 0 else {
            errno = EINVAL
            return false
        }
        isDirect = false
        posix_fadvise(number, 0, 0, POSIX_FADV_DONTNEED)
        return true
    }
}
