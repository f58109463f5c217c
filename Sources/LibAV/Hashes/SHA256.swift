// SPDX-License-Identifier: Apache-2.0

internal import CFFmpeg

/// SHA-256 (FIPS 180-4) of bytes that arrive in pieces, by libavutil. Only one thread may use it at a time.
package final class SHA256 {
    /// Bytes per digest.
    package static let digestBytes = 32

    private let context: OpaquePointer

    /// Starts with no bytes; nil if memory is exhausted.
    package init?() {
        guard let context = av_sha_alloc() else { return nil }
        self.context = context
        av_sha_init(context, 256)
    }

    deinit { av_free(UnsafeMutableRawPointer(context)) }

    /// Adds `bytes` to the data that is hashed.
    package func update(_ bytes: UnsafeRawBufferPointer) {
        guard let address = bytes.baseAddress else { return }
        relay_sha_update(context, address.assumingMemoryBound(to: UInt8.self), bytes.count)
    }

    /// Returns the digest of the added bytes. No bytes may be added afterwards.
    package func finish() -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: Self.digestBytes) { digest, count in
            av_sha_final(context, digest.baseAddress)
            count = Self.digestBytes
        }
    }
}

/// HMAC (RFC 2104) with SHA-256, computed by libavutil.
package enum HMAC {
    /// The 32-byte authentication code of `bytes` under `key`; nil if memory is exhausted.
    package static func sha256(_ bytes: [UInt8], key: [UInt8]) -> [UInt8]? {
        guard let context = av_hmac_alloc(AV_HMAC_SHA256) else { return nil }
        defer { av_hmac_free(context) }
        var result = [UInt8](repeating: 0, count: SHA256.digestBytes)
        let count = av_hmac_calc(
            context, bytes, UInt32(clamping: bytes.count), key, UInt32(clamping: key.count), &result,
            UInt32(clamping: result.count))
        return count == SHA256.digestBytes ? result : nil
    }
}

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
