// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Glibc
internal import LibAV

/// Computes the SHA-256 of a file, block by block.
struct Checksum {
    /// How many bytes are read at a time.
    static let blockSize = 1 << 20

    private let file: FileDescriptor
    private let hasher: SHA256
    /// Bytes read so far.
    private(set) var bytes: Int64 = 0

    /// Begins to read the file at `path`.
    init(_ path: String) throws(FileFailure) {
        file = try FileDescriptor.open(readOnly: path)
        guard let hasher = SHA256() else { throw FileFailure("compute the checksum of", path, code: ENOMEM) }
        self.hasher = hasher
    }

    /// Reads a block; returns false at the end of the file.
    mutating func step() throws(FileFailure) -> Bool {
        let block = try file.read(at: bytes, count: Self.blockSize)
        block.withUnsafeBytes { hasher.update($0) }
        bytes += Int64(block.count)
        return block.count == Self.blockSize
    }

    /// Returns the checksum in hexadecimal digits. Must be called once, at the end.
    func finish() -> String {
        hasher.finish().map { byte in
            let digits = String(byte, radix: 16)
            return byte < 16 ? "0" + digits : digits
        }.joined()
    }

    /// Returns the checksum of the whole file at `path`. Calls `progress` with the number of bytes read so far.
    static func of(_ path: String, progress: (Int64) -> Void = { _ in }) throws(FileFailure) -> String {
        var sum = try Checksum(path)
        while try sum.step() { progress(sum.bytes) }
        progress(sum.bytes)
        return sum.finish()
    }
}
