// SPDX-License-Identifier: Apache-2.0

internal import CFFmpeg

/// SHA-256 (FIPS 180-4) of bytes that arrive in pieces, by libavutil. One thread at a time.
package final class SHA256 {
    /// Bytes per digest.
    package static let digestBytes = 32

    private let context: OpaquePointer

    /// The hash of no bytes; nil if memory is exhausted.
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

    /// Returns the digest of the added bytes. No bytes may be added afterwards.
    package func finish() -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: Self.digestBytes) { digest, count in
            av_sha_final(context, digest.baseAddress)
            count = Self.digestBytes
        }
    }
}
