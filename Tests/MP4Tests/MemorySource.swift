// SPDX-License-Identifier: Apache-2.0

import MP4

/// A file in memory.
struct MemorySource: ByteSource {
    var bytes: [UInt8]

    func size() -> Int64 { Int64(bytes.count) }

    func read(at offset: Int64, count: Int) -> [UInt8] {
        guard offset < bytes.count else { return [] }
        return Array(bytes[Int(offset)..<min(bytes.count, Int(offset) + count)])
    }
}
