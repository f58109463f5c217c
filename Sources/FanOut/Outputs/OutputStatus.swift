// SPDX-License-Identifier: Apache-2.0

package import Media

/// The status of one output for an operator.
package struct OutputStatus: Sendable, Codable {
    /// The output's name, unique in its channel.
    package var name: String
    /// The rendition that the output sends; nil for the program's main encoding.
    package var rendition: String?
    /// The protocol.
    package var kind: String
    /// The address without secrets.
    package var address: String
    /// The output's state.
    package var state: OutputState.Name
    /// The step of the current attempt, what the output waits for, or the cause of the last failure.
    package var detail: String?
    /// Seconds since the output went on air; 0 if it is not on air.
    package var liveSeconds: Double
    /// Bytes sent over all connections.
    package var bytes: UInt64
    /// Frames sent over all connections.
    package var frames: UInt64
    /// Number of times the output went on air again after the first.
    package var reconnects: Int
    /// Number of attempts.
    package var attempts: Int
    /// The state of the queue.
    package var queue: QueueStatus
    /// Protocol-specific numbers.
    package var details: OutputDetails
    /// Whether the output was ever on air.
    package var wasLive: Bool
    /// The endpoint whose address is `address`.
    package var endpoint: OutputEndpoint
    /// Number of keyframes that the output requested: `relay_output_keyframes_requested_total`, by output.
    package var keyframesRequested = 0
    /// Where the output was defined.
    package var origin = OutputOrigin.flags
    /// The number of the current attempt; nil if there is no attempt.
    package var attempt: Int?
    /// Consecutive failed attempts.
    package var failures = 0
    /// Seconds until the next attempt; nil if no attempt is scheduled.
    package var nextAttemptSeconds: Double?
    /// The kind of the last failure; nil while the output is on air, and before the first failure.
    package var cause: OutputFailure.Kind?
    /// What an operator should check first after that failure; nil if the detail already says all that is known.
    package var hint: OutputFailure.Hint?
    /// The connection's round-trip time; nil if the protocol does not measure it.
    package var roundTripSeconds: Double?
}

/// Where an output was defined.
package enum OutputOrigin: String, Sendable, Codable {
    /// The command line.
    case flags
    /// The configuration file.
    case file
    /// The API, while the program ran.
    case api
}
