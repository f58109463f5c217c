// SPDX-License-Identifier: Apache-2.0

internal import CLinux
internal import Glibc
internal import MP4

/// Reads a file as it is on the disk. When the disk refuses written data, Linux keeps the data in memory and reports
/// success for the next `fsync`. A normal read then returns data that is not on the disk.
///
/// This type asks the system to drop its cache of the file, and bypasses the cache (`O_DIRECT`, open(2)). If the file
/// system does not support `O_DIRECT`, which some file systems report only when the file is read, this type reads
/// normally.
final class UncachedFile: ByteSource {
    /// `pread(2)`: sets `errno` and returns -1 if it fails.
    typealias ReadCall = (_ file: CInt, _ buffer: UnsafeMutableRawBufferPointer, _ offset: Int) -> Int

    private let number: CInt
    private let path: String
    private var isDirect: Bool
    private let readCall: ReadCall
    /// The part of the file that was read last, from ``windowStart`` on. It is kept because a reader of boxes reads
    /// many times near one position.
    private let window: UnsafeMutableRawBufferPointer
    private var windowStart: Int64 = 0
    private var windowCount = 0

    /// Offsets and lengths of reads are multiples of this number of bytes. With `O_DIRECT` they must be multiples of
    /// the device's block size, and 4096 is a multiple of all usual block sizes.
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

    /// Reads the window that contains `position`.
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

    /// Switches to normal reads through the cache. Returns false if this object has already switched, or cannot switch.
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
