// SPDX-License-Identifier: Apache-2.0

internal import CFFmpeg

/// HMAC (RFC 2104) with SHA-256, by libavutil.
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
