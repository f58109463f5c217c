// SPDX-License-Identifier: Apache-2.0

internal import CFFmpeg

/// The message digest MD5 (RFC 1321): only for old protocols that require it, because it is not secure.
package enum MD5 {
    /// The 16-byte digest of `bytes`.
    package static func digest(of bytes: [UInt8]) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: 16) { digest, count in
            relay_md5(digest.baseAddress, bytes, bytes.count)
            count = 16
        }
    }
}
