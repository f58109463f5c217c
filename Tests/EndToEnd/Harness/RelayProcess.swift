// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport

/// A process of the relay under test.
struct RelayProcess {
    let process: ChildProcess

    /// Wraps a relay that was started in another way.
    init(process: ChildProcess) { self.process = process }

    /// The directory in which relays keep data for their next start, unless a test sets another one.
    private static let state = NSTemporaryDirectory() + "/relay-test-state"

    /// Starts relay.
    init(_ arguments: [String], environment: [String: String] = [:]) throws {
        process = try ChildProcess(
            Tools.relay(), arguments, environment: ["XDG_STATE_HOME": Self.state].merging(environment) { $1 })
    }

    /// Runs relay to its end.
    static func run(
        _ arguments: [String], environment: [String: String] = [:], within limit: Duration = .seconds(60)
    ) async throws -> Finished {
        try await RelayProcess(arguments, environment: environment).finished(within: limit)
    }

    /// A run of relay that has ended.
    struct Finished {
        let ending: ChildProcess.Ending
        let log: String
        /// The time from the call of ``RelayProcess/finished(within:)`` to the end of the process.
        let duration: Duration
    }

    /// Waits for the end of relay.
    func finished(within limit: Duration) async throws -> Finished {
        let clock = ContinuousClock()
        let start = clock.now
        let ending = try await process.ending(within: limit)
        return Finished(ending: ending, log: process.output + process.errors, duration: clock.now - start)
    }

    /// Sends a signal, and waits for the end of relay.
    func end(by signal: Int32, within limit: Duration) async throws -> Finished {
        process.signal(signal)
        return try await finished(within: limit)
    }

    /// Waits until the log contains `text`.
    func says(_ text: String, within limit: Duration) async throws {
        try await eventually("relay says \"\(text)\"", within: limit) {
            if process.errors.contains(text) { return true }
            guard process.isRunning else { throw HarnessFailure("relay ended: \(process.errors)") }
            return false
        }
    }
}

/// Program shapes that a small machine encodes many times faster than real time.
enum Shape {
    static let small = size + ["--fps", "30"]
    static let size = ["--size", "320x180", "--preset", "ultrafast", "--video-bitrate", "1M"]
}
