// SPDX-License-Identifier: Apache-2.0

package import Media

/// What an operator sees of one output.
package struct OutputStatus: Sendable, Codable {
    /// The output's name, unique in its channel.
    package var name: String
    /// Which further encoding of the program it takes; nil for the program's own.
    package var rendition: String?
    /// The protocol.
    package var kind: String
    /// The address without secrets.
    package var address: String
    /// What it does.
    package var state: OutputState.Name
    /// The step of an attempt under way, whom the output waits for, or the cause of the last failure.
    package var detail: String?
    /// Seconds in the present state of being on air; 0 when not.
    package var liveSeconds: Double
    /// Bytes sent, over all connections.
    package var bytes: UInt64
    /// Frames sent, over all connections.
    package var frames: UInt64
    /// Times the output came back on air after the first.
    package var reconnects: Int
    /// Attempts made.
    package var attempts: Int
    /// The queue.
    package var queue: QueueStatus
    /// Numbers of the protocol's own.
    package var details: OutputDetails
    /// Whether the output was ever on air.
    package var wasLive: Bool
    /// Which of the output's addresses `address` is.
    package var endpoint: OutputEndpoint
    /// Keyframes that the output asked for: `relay_output_keyframes_requested_total`, by output.
    package var keyframesRequested = 0
    /// Who asked for the output.
    package var origin = OutputOrigin.flags
    /// The number of the attempt under way; nil if none is.
    package var attempt: Int?
    /// Attempts in a row that failed.
    package var failures = 0
    /// Seconds until the next attempt; nil if none is waited for.
    package var nextAttemptSeconds: Double?
    /// What the last failure means; nil while the output is on air, and before there was one.
    package var cause: OutputFailure.Kind?
    /// What to look at first then; nil where the detail says all that is known.
    package var hint: OutputFailure.Hint?
    /// The connection's round trip; nil where the protocol does not tell it.
    package var roundTripSeconds: Double?
}

/// Where an output was named.
package enum OutputOrigin: String, Sendable, Codable {
    /// The command line.
    case flags
    /// The configuration file.
    case file
    /// An operator, while the program ran.
    case api
}
