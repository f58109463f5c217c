// SPDX-License-Identifier: Apache-2.0

internal import CFFmpeg

/// SHA-256 (FIPS 180-4) of bytes that come piece by piece, by libavutil. Used by one thread at a time.
package final class SHA256 {
    /// Bytes of a digest.
    package static let digestBytes = 32

    private let context: OpaquePointer

    /// The digest of nothing yet; nil when there is no memory.
    package init?() {
        guard let context = av_sha_alloc() else { return nil }
        self.context = context
        av_sha_init(context, 256)
    }

    deinit { av_free(UnsafeMutableRawPointer(context)) }

    /// Adds bytes.
    package func update(_ bytes: UnsafeRawBufferPointer) {
        guard let address = bytes.baseAddress else { return }
        relay_sha_update(context, address.assumingMemoryBound(to: UInt8.self), bytes.count)
    }

    /// The digest of what was added. Nothing may be added afterwards.
    package func finish() -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: Self.digestBytes) { digest, count in
            av_sha_final(context, digest.baseAddress)
            count = Self.digestBytes
        }
    }
}
