// SPDX-License-Identifier: Apache-2.0

internal import CFFmpeg

/// The message digest MD5 (RFC 1321): for old protocols that ask for it, no protection of anything.
package enum MD5 {
    /// The 16 bytes of `bytes`' digest.
    package static func digest(of bytes: [UInt8]) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: 16) { digest, count in
            relay_md5(digest.baseAddress, bytes, bytes.count)
            count = 16
        }
    }
}
