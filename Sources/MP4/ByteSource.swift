// SPDX-License-Identifier: Apache-2.0

/// Bytes that a reader of this module looks at: a file, or a piece of memory. What a read costs and how it fails is the
/// source's own matter.
package protocol ByteSource {
    /// Bytes there are.
    func size() throws -> Int64

    /// Reads up to `count` bytes at `offset`, neither of which is negative; fewer only at the end.
    func read(at offset: Int64, count: Int) throws -> [UInt8]
}
