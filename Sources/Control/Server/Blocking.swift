// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Media
internal import Synchronization

/// Runs what blocks beside the threads of Swift's concurrency, a few at a time.
final class Blocking: Sendable {
    /// What an operator does: ports and connections.
    static let control = Blocking("relay.control.work", qos: .default)
    /// What looks at recordings: a disk that does not answer holds up only who asks for these.
    static let disk = Blocking("relay.control.disk", qos: .utility)

    /// What makes stills, and waits for nothing but the processor.
    static let stills = Blocking("relay.control.stills", qos: .utility)

    /// Commands to clips, of which none is lost because others look at something.
    static let clips = Blocking("relay.control.clips", qos: .default, most: 64)

    private let queue: DispatchQueue
    private let running = Atomic(0)
    /// So much may be under way.
    private let most: Int

    private init(_ name: String, qos: DispatchQoS, most: Int = 16) {
        self.most = most
        queue = DispatchQueue(label: name, qos: qos, attributes: .concurrent)
    }

    /// What `work` returns or throws. Throws where too much is under way already.
    func run<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
        guard running.wrappingAdd(1, ordering: .relaxed).newValue <= most else {
            running.subtract(1, ordering: .relaxed)
            throw Refusal(.unavailable, "Too much is being done at once. Try again.")
        }
        defer { running.subtract(1, ordering: .relaxed) }
        return try await withCheckedThrowingContinuation { continuation in
            queue.async { continuation.resume(with: Result { try work() }) }
        }
    }
}
