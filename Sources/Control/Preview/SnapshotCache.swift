// SPDX-License-Identifier: Apache-2.0

internal import Media
internal import Synchronization

/// Caches images for a short time. Only one image is made at a time, so that no client can keep the processor busy.
final class SnapshotCache: Sendable {
    private let lifetime: Duration
    private let images = Mutex<[String: (bytes: [UInt8], made: ContinuousClock.Instant)]>([:])

    /// A cache that keeps images for `lifetime`.
    init(for lifetime: Duration = .seconds(1)) { self.lifetime = lifetime }

    /// Returns the image `key`; calls `make` if it is not in the cache. Blocks while an image is being made.
    func bytes(of key: String, _ make: () throws(Refusal) -> [UInt8]) throws(Refusal) -> [UInt8] {
        try images.withLock { (images) throws(Refusal) in
            let now = ContinuousClock.now
            images = images.filter { now - $0.value.made < lifetime }
            if let image = images[key] { return image.bytes }
            let bytes = try make()
            images[key] = (bytes, now)
            return bytes
        }
    }
}
