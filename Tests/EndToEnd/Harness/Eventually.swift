// SPDX-License-Identifier: Apache-2.0

/// A condition that did not come true in time, or a tool that did not do its work, in one sentence.
struct HarnessFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// How many times longer than its limit a wait may last. Limits say what a machine needs that has nothing else to do; a
/// busy one must not fail by being slow, and a hang must fail with a message.
private let patience = 6

/// Returns as soon as `condition` holds, and how long that took; throws when it does not within six times `limit`.
@discardableResult
func eventually(
    _ what: String, within limit: Duration, _ condition: () throws -> Bool
) async throws -> Duration {
    let clock = ContinuousClock()
    let start = clock.now
    while try !condition() {
        guard clock.now - start < limit * patience else {
            throw HarnessFailure("Not within \(limit * patience): \(what).")
        }
        try await Task.sleep(for: .milliseconds(20))
    }
    return clock.now - start
}
