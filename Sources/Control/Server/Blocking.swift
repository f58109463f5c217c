// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Synchronization

/// Runs what blocks beside the threads of Swift's concurrency, a few at a time.
enum Blocking {
    private static let queue = DispatchQueue(label: "relay.control.work", attributes: .concurrent)
    private static let most = 16
    private static let running = Atomic(0)

    /// What `work` returns or throws. Throws where too much is under way already.
    static func run<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
        guard running.wrappingAdd(1, ordering: .relaxed).newValue <= most else {
            running.subtract(1, ordering: .relaxed)
            throw ControlFailure(.unavailable, "Too much is being done at once. Try again.")
        }
        defer { running.subtract(1, ordering: .relaxed) }
        return try await withCheckedThrowingContinuation { continuation in
            queue.async { continuation.resume(with: Result { try work() }) }
        }
    }
}
