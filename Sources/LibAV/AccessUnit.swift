// SPDX-License-Identifier: Apache-2.0

package import Media

/// A coded frame as in MP4 and FLV: NAL units, each preceded by its length in 4 bytes.
package enum AccessUnit {
    /// Whether no other frame refers to this one: `nal_ref_idc` of its first slice is 0 (ITU-T H.264, 7.4.1). False if
    /// the payload has no complete slice header.
    package static func isDisposable(_ payload: SharedBytes) -> Bool {
        payload.withUnsafeBytes { bytes in
            var start = 0
            while start + 5 <= bytes.count {
                let length = bytes[start..<start + 4].reduce(0) { $0 << 8 | Int($1) }
                let header = bytes[start + 4]
                // Types 1 to 5 are slices (table 7-1).
                if (1...5).contains(header & 0x1F) { return header & 0x60 == 0 }
                start += 4 + length
            }
            return false
        }
    }
}
