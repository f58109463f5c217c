// SPDX-License-Identifier: Apache-2.0

/// Bytes that this module's readers can read at any position, such as a file or a block of memory. The type that
/// conforms decides what a read costs and which errors it throws.
package protocol ByteSource {
    /// The total number of bytes.
    func size() throws -> Int64

    /// Reads `count` bytes at `offset`. Returns fewer bytes only at the end of the source. Neither `offset` nor `count`
    /// may be negative.
    func read(at offset: Int64, count: Int) throws -> [UInt8]
}
