// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Media
internal import Synchronization

/// Runs blocking work outside of Swift concurrency's threads, and limits the number of concurrent calls. Requests of
/// viewers and commands of operators use different instances, so that one cannot use up the calls of the other.
final class Blocking: Sendable {
    /// For commands of operators that can take long, such as those that open ports and connections or start a
    /// recording.
    static let control = Blocking("relay.control.work", qos: .default)
    /// For lists and files of recordings, clips and exports. If a disk does not answer, it delays only these requests.
    static let disk = Blocking("relay.control.disk", qos: .utility)
    /// For thumbnails of recordings. A web page requests many of them at once.
    static let thumbnails = Blocking("relay.control.thumbnails", qos: .utility)
    /// For commands that change recordings, clips, exports, run-downs and overlays.
    static let changes = Blocking("relay.control.changes", qos: .default)

    /// For encoding still images. This work uses only the processor.
    static let stills = Blocking("relay.control.stills", qos: .utility)

    /// For commands that begin and end clips. They must not be refused because other requests wait for the disk.
    static let clips = Blocking("relay.control.clips", qos: .default, most: 64)

    private let queue: DispatchQueue
    private let running = Atomic(0)
    /// The maximum number of concurrent calls.
    private let most: Int

    private init(_ name: String, qos: DispatchQoS, most: Int = 16) {
        self.most = most
        queue = DispatchQueue(label: name, qos: qos, attributes: .concurrent)
    }

    /// Returns the result of `work`. Throws if too many calls are running.
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
