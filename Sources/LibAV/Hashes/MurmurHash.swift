// SPDX-License-Identifier: Apache-2.0

internal import CFFmpeg

/// 128-bit MurmurHash3 of bytes that arrive in pieces, computed by libavutil. It hashes some gigabytes per second, but
/// does not protect against deliberate collisions. Only one thread may use it at a time.
package final class MurmurHash {
    /// Bytes per digest.
    package static let digestBytes = 16

    private let context: OpaquePointer

    /// Starts with no bytes; nil if memory is exhausted.
    package init?() {
        guard let context = av_murmur3_alloc() else { return nil }
        self.context = context
        av_murmur3_init(context)
    }

    deinit { av_free(UnsafeMutableRawPointer(context)) }

    /// Adds `bytes` to the data that is hashed.
    package func update(_ bytes: UnsafeRawBufferPointer) {
        guard let address = bytes.baseAddress else { return }
        relay_murmur3_update(context, address.assumingMemoryBound(to: UInt8.self), bytes.count)
    }

    /// Returns the digest of the added bytes, and starts again with no bytes.
    package func finish() -> [UInt8] {
        defer { av_murmur3_init(context) }
        return [UInt8](unsafeUninitializedCapacity: Self.digestBytes) { digest, count in
            av_murmur3_final(context, digest.baseAddress)
            count = Self.digestBytes
        }
    }
}
