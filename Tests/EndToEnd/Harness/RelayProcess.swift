// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport

/// The relay under test.
struct RelayProcess {
    let process: ChildProcess

    /// One that was started by other means.
    init(process: ChildProcess) { self.process = process }

    /// Where relays of tests keep what they must know at their next start, unless a test says something else.
    private static let state = NSTemporaryDirectory() + "/relay-test-state"

    /// Starts it.
    init(_ arguments: [String], environment: [String: String] = [:]) throws {
        process = try ChildProcess(
            Tools.relay(), arguments, environment: ["XDG_STATE_HOME": Self.state].merging(environment) { $1 })
    }

    /// Runs it to its end.
    static func run(
        _ arguments: [String], environment: [String: String] = [:], within limit: Duration = .seconds(60)
    ) async throws -> Finished {
        try await RelayProcess(arguments, environment: environment).finished(within: limit)
    }

    /// A run that is over.
    struct Finished {
        let ending: ChildProcess.Ending
        let log: String
        /// From the call of ``RelayProcess/finished(within:)`` to the process's end.
        let duration: Duration
    }

    /// Waits for the end.
    func finished(within limit: Duration) async throws -> Finished {
        let clock = ContinuousClock()
        let start = clock.now
        let ending = try await process.ending(within: limit)
        return Finished(ending: ending, log: process.output + process.errors, duration: clock.now - start)
    }

    /// Sends a signal and waits for the end.
    func end(by signal: Int32, within limit: Duration) async throws -> Finished {
        process.signal(signal)
        return try await finished(within: limit)
    }

    /// Waits for a piece of the log.
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
