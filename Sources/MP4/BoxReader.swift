// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Reads big-endian numbers and MP4 boxes from untrusted bytes. Each read checks that enough bytes are left.
package struct BoxReader {
    private var bytes: ArraySlice<UInt8>

    /// Creates a reader of `bytes`.
    package init(_ bytes: ArraySlice<UInt8>) { self.bytes = bytes }

    /// Number of unread bytes.
    package var count: Int { bytes.count }
    /// The unread bytes.
    package var rest: ArraySlice<UInt8> { bytes }

    /// Reads the next `count` bytes.
    package mutating func take(_ count: Int) throws(MP4Failure) -> ArraySlice<UInt8> {
        guard count >= 0, count <= bytes.count else { throw MP4Failure(description: "a box ends too early") }
        let taken = bytes.prefix(count)
        bytes = bytes.dropFirst(count)
        return taken
    }

    mutating func u16() throws(MP4Failure) -> UInt16 {
        try take(2).reduce(0) { $0 << 8 | UInt16($1) }
    }

    /// Reads an unsigned number of 32 bits.
    package mutating func u32() throws(MP4Failure) -> UInt32 {
        try take(4).reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// Reads an unsigned number of 64 bits.
    package mutating func u64() throws(MP4Failure) -> UInt64 {
        try take(8).reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// Reads a time or duration, which has 32 bits in a box of version 0 and 64 bits in version 1. Values above 2^60 or
    /// below −2^60 are refused, so that the sum of a few times cannot overflow.
    package mutating func time(version: UInt8) throws(MP4Failure) -> Int64 {
        let value = version == 0 ? Int64(try u32()) : Int64(bitPattern: try u64())
        guard value.magnitude <= 1 << 60 else { throw MP4Failure(description: "a time is absurd") }
        return value
    }

    /// Reads a `media_time` of an edit list. The number is signed, even in version 0; -1 means an empty edit (8.6.6).
    package mutating func mediaTime(version: UInt8) throws(MP4Failure) -> Int64 {
        version == 0 ? Int64(Int32(bitPattern: try u32())) : try time(version: version)
    }

    /// Reads the version and the flags of a `FullBox`.
    package mutating func versionAndFlags() throws(MP4Failure) -> (version: UInt8, flags: UInt32) {
        let value = try u32()
        return (UInt8(value >> 24), value & 0xFF_FFFF)
    }

    /// Reads a four-character code.
    package mutating func code() throws(MP4Failure) -> String {
        String(String.UnicodeScalarView(try take(4).map { Unicode.Scalar($0) }))
    }

    /// Reads the next box. Returns its type, its content, and all bytes of the box. Sizes below 8 are refused. This
    /// includes 0 (up to the end of the file) and 1 (a 64-bit size follows), which boxes inside other boxes do not
    /// need.
    package mutating func box() throws(MP4Failure) -> (type: String, body: BoxReader, whole: ArraySlice<UInt8>) {
        var header = self
        let size = Int(try header.u32())
        let type = try header.code()
        guard size >= 8 else { throw MP4Failure(description: "a box has no size") }
        let whole = try take(size)
        return (type, BoxReader(whole.dropFirst(8)), whole)
    }

    /// Reads all unread bytes as boxes.
    package func boxes() throws(MP4Failure) -> [(type: String, body: BoxReader, whole: ArraySlice<UInt8>)] {
        var reader = self
        var result: [(type: String, body: BoxReader, whole: ArraySlice<UInt8>)] = []
        while reader.count > 0 { result.append(try reader.box()) }
        return result
    }

    /// The positions in `bytes` at which the byte pattern `mark` occurs. `mark` must not be empty.
    package static func positions(of mark: [UInt8], in bytes: [UInt8]) -> [Int] {
        bytes.withUnsafeBytes { bytes in
            var positions: [Int] = []
            guard let base = bytes.baseAddress else { return positions }
            var index = 0
            while index + mark.count <= bytes.count,
                let found = memchr(base + index, CInt(mark[0]), bytes.count - mark.count + 1 - index)
            {
                index = found - UnsafeMutableRawPointer(mutating: base)
                if memcmp(base + index, mark, mark.count) == 0 { positions.append(index) }
                index += 1
            }
            return positions
        }
    }

    /// The content of the first box of `type` among the unread bytes.
    package func first(_ type: String) throws(MP4Failure) -> BoxReader {
        for box in try boxes() where box.type == type { return box.body }
        throw MP4Failure(description: "there is no \(type)")
    }
}

/// The reason why bytes are refused: they are damaged, or have a form that this module does not read.
package struct MP4Failure: Error, Equatable, CustomStringConvertible {
    package let description: String

    /// Creates a failure with the sentence `description`.
    package init(description: String) { self.description = description }
}
