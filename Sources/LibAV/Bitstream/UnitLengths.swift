// SPDX-License-Identifier: Apache-2.0

package import Media

/// The size of the length in front of each NAL unit: 1, 2 or 4 bytes (ISO/IEC 14496-15, 5.3.3.1.2 and 8.3.3.1.2).
///
/// Outputs, decoders and files get lengths of 4 bytes. A stream with shorter lengths is converted (widened) when it
/// enters relay: its decoder configuration once, and each of its frames. This type is a value, so any thread may use
/// it.
package struct UnitLengths: Sendable, Equatable {
    private let size: Int

    /// Creates the size of 4 bytes.
    package init() { size = 4 }

    /// The size of lengths that `record`, a decoder configuration of `codec`, states; nil if it is not such a
    /// configuration. Codecs without NAL units count as having lengths of 4 bytes.
    package init?(record: [UInt8], _ codec: Codec) {
        guard let place = Self.place(in: record, codec) else {
            guard codec != .h264, codec != .hevc, record.count >= 4 else { return nil }
            size = 4
            return
        }
        size = Int(record[place] & 3) + 1
    }

    /// Whether lengths have 4 bytes already, so that frames need not be widened.
    package var areWide: Bool { size == 4 }

    /// Returns `record` with its size of lengths set to 4 bytes; `record` itself if it is not a configuration of H.264
    /// or HEVC.
    package static func widened(record: [UInt8], _ codec: Codec) -> [UInt8] {
        guard let place = place(in: record, codec) else { return record }
        var record = record
        record[place] |= 3
        return record
    }

    /// Returns `payload`, a frame, with lengths of 4 bytes. A unit that is cut off ends where the payload ends. Returns
    /// nil if the payload has no unit. Returns `payload` itself if it has lengths of 4 bytes already.
    package func widened(_ payload: SharedBytes) -> SharedBytes? {
        guard !areWide else { return payload }
        return payload.withUnsafeBytes { bytes -> SharedBytes? in
            var count = 0
            forEachUnit(of: bytes) { count += 4 + $0.count }
            guard count > 0 else { return nil }
            return SharedBytes(count: count) { memory in
                var position = 0
                forEachUnit(of: bytes) { unit in
                    memory.storeBytes(of: UInt32(unit.count).bigEndian, toByteOffset: position, as: UInt32.self)
                    UnsafeMutableRawBufferPointer(rebasing: memory[(position + 4)...]).copyBytes(from: bytes[unit])
                    position += 4 + unit.count
                }
            }
        }
    }

    private func forEachUnit(of bytes: UnsafeRawBufferPointer, _ body: (Range<Int>) -> Void) {
        var start = 0
        while start + size < bytes.count {
            let length = bytes[start..<start + size].reduce(0) { $0 << 8 | Int($1) }
            let first = start + size
            let end = min(first + length, bytes.count)
            if end > first { body(first..<end) }
            start = end
        }
    }

    /// Returns the position of the byte whose low two bits are the size minus 1; nil if the record is not complete.
    /// Some early HEVC encoders write version 0 in the record's first byte. The second byte, with the profile, is not
    /// 0, so such a record does not begin with two zeros as a start code does.
    private static func place(in record: [UInt8], _ codec: Codec) -> Int? {
        switch codec {
        case .h264: record.count > 6 && record[0] == 1 ? 4 : nil
        case .hevc: record.count > 22 && !record.starts(with: [0, 0]) ? 21 : nil
        default: nil
        }
    }
}
