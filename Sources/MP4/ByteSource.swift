// SPDX-License-Identifier: Apache-2.0

/// A random-access source of bytes for this module's readers: a file, or a piece of memory. The source decides what a
/// read costs and how it fails.
package protocol ByteSource {
    /// Total number of bytes.
    func size() throws -> Int64

    /// Reads `count` bytes at `offset`; fewer only at the end of the source. Neither number is negative.
    func read(at offset: Int64, count: Int) throws -> [UInt8]
}
