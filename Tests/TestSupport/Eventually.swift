// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// The error that a condition did not become true in time, in one sentence. A test that throws it fails with this
/// sentence.
package struct NotInTime: Error, CustomStringConvertible {
    package let description: String
}

/// Waits until `condition` is true. Throws `NotInTime` if it is not true within six times `limit`. An error that
/// `condition` throws ends the wait. Blocks the thread; an async function must use the async overload.
package func eventually(
    _ what: String = "a condition", within limit: Duration = .seconds(30), file: String = #fileID, line: Int = #line,
    _ condition: () throws -> Bool
) throws {
    var wait = Wait(what, within: limit, at: "\(file):\(line)")
    while try !condition() { usleep(useconds_t(try wait.pause() * 1000)) }
}

/// Waits until `condition` is true, and returns how long that took. Throws `NotInTime` if it is not true within six
/// times `limit`. An error that `condition` throws ends the wait.
@discardableResult
package func eventually(
    _ what: String = "a condition", within limit: Duration = .seconds(30), file: String = #fileID, line: Int = #line,
    _ condition: () throws -> Bool
) async throws -> Duration {
    var wait = Wait(what, within: limit, at: "\(file):\(line)")
    while try !condition() { try await Task.sleep(for: .milliseconds(try wait.pause())) }
    return wait.elapsed
}

/// Waits like the overload above, but for an asynchronous condition.
@discardableResult
package nonisolated(nonsending) func eventually(
    _ what: String = "a condition", within limit: Duration = .seconds(30), file: String = #fileID, line: Int = #line,
    _ condition: nonisolated(nonsending) () async throws -> Bool
) async throws -> Duration {
    var wait = Wait(what, within: limit, at: "\(file):\(line)")
    while try await !condition() { try await Task.sleep(for: .milliseconds(try wait.pause())) }
    return wait.elapsed
}

/// A wait for a condition that is checked repeatedly.
private struct Wait {
    /// How many times longer than its limit a wait may last. Limits are chosen for a machine that does nothing else. A
    /// test must not fail because a machine is busy, but a hang must end with a message.
    private static let patience = 6

    private let what: String
    private let limit: Duration
    private let place: String
    private let start = ContinuousClock.now
    private var waited = Duration.zero
    private var latest = ContinuousClock.now
    private var milliseconds = 1

    init(_ what: String, within limit: Duration, at place: String) {
        (self.what, self.limit, self.place) = (what, limit * Self.patience, place)
    }

    var elapsed: Duration { ContinuousClock.now - start }

    /// Returns how many milliseconds to wait before the next check: more each time, up to 20, because some conditions
    /// read files or query servers. Each wait counts for at most a second, even if it lasts longer on a machine that
    /// runs hundreds of tests at once.
    mutating func pause() throws -> Int {
        let now = ContinuousClock.now
        waited += min(now - latest, .seconds(1))
        latest = now
        guard waited < limit else {
            throw NotInTime(description: "Not within \(limit) (\(elapsed) by the clock): \(what), at \(place).")
        }
        defer { milliseconds = min(milliseconds * 2, 20) }
        return milliseconds
    }
}
