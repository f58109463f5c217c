// SPDX-License-Identifier: Apache-2.0

/// Immutable bytes that several holders share without copying.
///
/// The closure passed to the initializer writes the bytes once. Their address never changes, so that an output can pass
/// the payloads of several packets to one `writev`.
package final class SharedBytes: Sendable {
    // The memory is written only in `init`, before any other reference to this object exists. After that it is only
    // read, and `deinit` frees it.
    nonisolated(unsafe) private let storage: UnsafeMutableRawBufferPointer

    /// Number of bytes.
    package var count: Int { storage.count }

    /// Creates `count` bytes, all of which `fill` must write.
    package init(count: Int, fill: (UnsafeMutableRawBufferPointer) throws -> Void) rethrows {
        storage = .allocate(byteCount: count, alignment: 16)
        do {
            try fill(storage)
        } catch {
            storage.deallocate()
            throw error
        }
    }

    /// A copy of `bytes`.
    package convenience init(_ bytes: some Collection<UInt8>) {
        self.init(count: bytes.count) { $0.copyBytes(from: bytes) }
    }

    deinit { storage.deallocate() }

    /// Calls `body` with the bytes. Their address is valid as long as this object exists, not only during the call. A
    /// caller that keeps the address must keep the object, too.
    package func withUnsafeBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
        try body(UnsafeRawBufferPointer(storage))
    }

    /// A copy as an array, for headers and tests.
    package var array: [UInt8] { [UInt8](storage) }
}
