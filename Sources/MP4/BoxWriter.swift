// SPDX-License-Identifier: Apache-2.0

/// Builds boxes of the ISO base media file format (ISO/IEC 14496-12, 4.2). Numbers are big-endian. The size of a box is
/// filled in when the box is complete.
package struct BoxWriter {
    /// The bytes written so far.
    package private(set) var bytes: [UInt8] = []

    /// Creates a writer without bytes, with memory for `capacity` bytes.
    package init(capacity: Int = 1024) { bytes.reserveCapacity(capacity) }

    /// Appends a number of 8 bits.
    mutating func u8(_ value: UInt8) { bytes.append(value) }

    /// Appends any fixed-width integer, most significant byte first.
    private mutating func bigEndian(_ value: some FixedWidthInteger) {
        withUnsafeBytes(of: value.bigEndian) { bytes.append(contentsOf: $0) }
    }

    /// Appends a number of 16 bits.
    mutating func u16(_ value: UInt16) { bigEndian(value) }
    /// Appends a number of 32 bits.
    package mutating func u32(_ value: UInt32) { bigEndian(value) }
    /// Appends a signed number of 32 bits.
    mutating func i32(_ value: Int32) { bigEndian(value) }
    /// Appends a number of 64 bits.
    package mutating func u64(_ value: UInt64) { bigEndian(value) }
    /// Appends `value` byte by byte.
    package mutating func raw(_ value: some Sequence<UInt8>) { bytes.append(contentsOf: value) }
    /// Appends `count` bytes of 0.
    package mutating func zeros(_ count: Int) { bytes.append(contentsOf: repeatElement(0, count: count)) }

    /// Appends a four-character code. Each Unicode scalar becomes one byte (`©` becomes 0xA9).
    package mutating func code(_ value: String) {
        for scalar in value.unicodeScalars { u8(UInt8(truncatingIfNeeded: scalar.value)) }
    }

    /// Appends a time or duration: with 64 bits for a box of version 1, and with 32 bits for version 0.
    package mutating func time(_ value: Int64, version: UInt8) {
        if version == 1 { bigEndian(value) } else { bigEndian(Int32(truncatingIfNeeded: value)) }
    }

    /// Overwrites the 32 bits at `position`, which were written before.
    package mutating func patch(_ value: UInt32, at position: Int) {
        withUnsafeBytes(of: value.bigEndian) { bytes.replaceSubrange(position..<position + 4, with: $0) }
    }

    /// Appends a box of `type`. The closure `body` writes the content of the box.
    package mutating func box(_ type: String, _ body: (inout BoxWriter) -> Void) {
        let start = bytes.count
        u32(0)
        code(type)
        body(&self)
        patch(UInt32(clamping: bytes.count - start), at: start)
    }

    /// Appends a box with version and flags (4.2, `FullBox`). The closure writes the content of the box.
    package mutating func fullBox(
        _ type: String, version: UInt8 = 0, flags: UInt32 = 0, _ body: (inout BoxWriter) -> Void
    ) {
        box(type) { writer in
            writer.u32(UInt32(version) << 24 | flags & 0xFF_FFFF)
            body(&writer)
        }
    }
}
