// SPDX-License-Identifier: Apache-2.0

internal import CFFmpeg

/// MurmurHash3 of 128 bits of bytes that come piece by piece, by libavutil: some gigabytes a second, and no protection
/// against who wants two things to look the same. Used by one thread at a time.
package final class MurmurHash {
    /// Bytes of a digest.
    package static let digestBytes = 16

    private let context: OpaquePointer

    /// The hash of nothing yet; nil when there is no memory.
    package init?() {
        guard let context = av_murmur3_alloc() else { return nil }
        self.context = context
        av_murmur3_init(context)
    }

    deinit { av_free(UnsafeMutableRawPointer(context)) }

    /// Adds bytes.
    package func update(_ bytes: UnsafeRawBufferPointer) {
        guard let address = bytes.baseAddress else { return }
        relay_murmur3_update(context, address.assumingMemoryBound(to: UInt8.self), bytes.count)
    }

    /// The digest of what was added; the next one begins with nothing.
    package func finish() -> [UInt8] {
        defer { av_murmur3_init(context) }
        return [UInt8](unsafeUninitializedCapacity: Self.digestBytes) { digest, count in
            av_murmur3_final(context, digest.baseAddress)
            count = Self.digestBytes
        }
    }
}
