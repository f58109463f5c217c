// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Checks the continuity counters of a received transport stream (ISO/IEC 13818-1, 2.4.3.3). Null packets have no
/// counter.
enum Continuity {
    /// Describes each discontinuity of a counter; empty if every TS packet that was sent is in the file.
    static func errors(_ path: String) throws -> [String] {
        let data = try Data(contentsOf: URL(fileURLWithPath: path), options: .mappedIfSafe)
        guard data.count >= 188 else { throw HarnessFailure("\(path) is empty.") }
        var last: [UInt16: UInt8] = [:]
        var errors: [String] = []
        data.withUnsafeBytes { bytes in
            for start in stride(from: 0, through: bytes.count - 188, by: 188) {
                guard bytes[start] == 0x47 else {
                    errors.append("no packet at byte \(start)")
                    continue
                }
                let pid = UInt16(bytes[start + 1] & 0x1F) << 8 | UInt16(bytes[start + 2])
                guard pid != 0x1FFF else { continue }
                let counter = bytes[start + 3] & 0x0F
                let hasPayload = bytes[start + 3] & 0x10 != 0
                if let before = last[pid], counter != (hasPayload ? (before + 1) & 0x0F : before) {
                    errors.append("\(counter) follows \(before) of stream \(pid) at byte \(start)")
                }
                last[pid] = counter
            }
        }
        return errors
    }
}
