// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// A condition that did not come true in time, in one sentence. A test that throws it fails with that sentence.
package struct NotInTime: Error, CustomStringConvertible {
    package let description: String
}

/// Returns as soon as `condition` holds, and throws `NotInTime` when it does not within six times `limit`. Blocks the
/// thread; in an async function, the other form is meant. What `condition` throws ends the wait.
package func eventually(
    _ what: String = "a condition", within limit: Duration = .seconds(30), file: String = #fileID, line: Int = #line,
    _ condition: () throws -> Bool
) throws {
    var wait = Wait(what, within: limit, at: "\(file):\(line)")
    while try !condition() { usleep(useconds_t(try wait.pause() * 1000)) }
}

/// Returns as soon as `condition` holds, and how long that took; throws `NotInTime` when it does not within six times
/// `limit`. What `condition` throws ends the wait.
@discardableResult
package func eventually(
    _ what: String = "a condition", within limit: Duration = .seconds(30), file: String = #fileID, line: Int = #line,
    _ condition: () throws -> Bool
) async throws -> Duration {
    var wait = Wait(what, within: limit, at: "\(file):\(line)")
    while try !condition() { try await Task.sleep(for: .milliseconds(try wait.pause())) }
    return wait.elapsed
}

/// The same of a condition that is itself asked for asynchronously.
@discardableResult
package nonisolated(nonsending) func eventually(
    _ what: String = "a condition", within limit: Duration = .seconds(30), file: String = #fileID, line: Int = #line,
    _ condition: nonisolated(nonsending) () async throws -> Bool
) async throws -> Duration {
    var wait = Wait(what, within: limit, at: "\(file):\(line)")
    while try await !condition() { try await Task.sleep(for: .milliseconds(try wait.pause())) }
    return wait.elapsed
}

/// A wait for a condition that is asked for again and again.
private struct Wait {
    /// How many times longer than its limit a wait may last. Limits say what a machine needs that has nothing else to
    /// do; a busy one must not fail by being slow, and a hang must fail with a message.
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

    /// The milliseconds until the condition is asked for again: more each time, up to 20, because some conditions read
    /// files or ask servers. No single turn counts for more than a second, however long a machine that runs hundreds of
    /// tests at once lets this one lie.
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
