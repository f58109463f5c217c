// SPDX-License-Identifier: Apache-2.0

package import Media

/// How many bytes the length in front of each NAL unit has: 1, 2 or 4 (ISO/IEC 14496-15, 5.3.3.1.2 and 8.3.3.1.2).
///
/// Outputs, decoders and files get lengths of 4 bytes. A stream with shorter ones is widened where it enters: its
/// decoder configuration once, its frames one by one. A value; may be used on any thread.
package struct UnitLengths: Sendable, Equatable {
    private let size: Int

    /// Lengths of 4 bytes.
    package init() { size = 4 }

    /// The lengths that `record`, a decoder configuration of `codec`, announces; nil if it is too short to be one.
    /// Codecs without NAL units count as having lengths of 4 bytes.
    package init?(record: [UInt8], _ codec: Codec) {
        guard let place = Self.place(in: record, codec) else {
            guard codec != .h264, codec != .hevc, record.count >= 4 else { return nil }
            size = 4
            return
        }
        size = Int(record[place] & 3) + 1
    }

    /// Whether frames need no widening.
    package var areWide: Bool { size == 4 }

    /// `record` with lengths of 4 bytes; `record` itself if it is not a configuration of H.264 or HEVC.
    package static func widened(record: [UInt8], _ codec: Codec) -> [UInt8] {
        guard let place = place(in: record, codec) else { return record }
        var record = record
        record[place] |= 3
        return record
    }

    /// `payload`, a frame, with lengths of 4 bytes. A unit that is cut off ends where the payload ends. Nil if the
    /// payload has no unit; a payload with lengths of 4 bytes is returned as it is.
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

    /// The position of the byte whose low two bits are the size minus 1; nil without a complete record. Early encoders of
    /// HEVC write version 0, followed by a profile, which a start code has not.
    private static func place(in record: [UInt8], _ codec: Codec) -> Int? {
        switch codec {
        case .h264: record.count > 6 && record[0] == 1 ? 4 : nil
        case .hevc: record.count > 22 && !record.starts(with: [0, 0]) ? 21 : nil
        default: nil
        }
    }
}
