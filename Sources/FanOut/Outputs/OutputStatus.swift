// SPDX-License-Identifier: Apache-2.0

package import Media

/// The status of one output as operators see it.
package struct OutputStatus: Sendable, Codable {
    /// The output's name, unique in its channel.
    package var name: String
    /// The rendition that the output sends; nil for the program's main encoding.
    package var rendition: String?
    /// The protocol of the current or last attempt.
    package var kind: OutputKindName
    /// The address of the current or last attempt, without secrets.
    package var address: String
    /// The output's state.
    package var state: OutputState.Name
    /// One of: the step of the current attempt, what the output waits for, the description of the last failure. Nil if
    /// none of these applies, for example on air.
    package var detail: String?
    /// The time since the output went on air, in seconds; 0 if it is not on air.
    package var liveSeconds: Double
    /// The number of bytes that all attempts of the output have sent.
    package var bytes: UInt64
    /// The number of frames that all attempts of the output have sent.
    package var frames: UInt64
    /// How often the output went on air again after its first time.
    package var reconnects: Int
    /// The number of attempts so far.
    package var attempts: Int
    /// The fill level of the output's queue, and all drops of the output.
    package var queue: QueueStatus
    /// Numbers that only some protocols have.
    package var details: OutputDetails
    /// Whether the output was ever on air.
    package var wasLive: Bool
    /// Whether `address` is the primary, the backup or a redirected address.
    package var endpoint: OutputEndpoint
    /// How many keyframes the output has requested from the encoder. This is the metric
    /// `relay_output_keyframes_requested_total`.
    package var keyframesRequested = 0
    /// Where the output was defined.
    package var origin = OutputOrigin.flags
    /// The number of the attempt that is connecting; nil if no attempt is connecting.
    package var attempt: Int?
    /// The number of consecutive failed attempts.
    package var failures = 0
    /// The time until the next attempt, in seconds; nil if no attempt is scheduled.
    package var nextAttemptSeconds: Double?
    /// The kind of the last failure; nil while the output is on air or waits for receivers, and before the first
    /// failure.
    package var cause: OutputFailure.Kind?
    /// What an operator should check first after the last failure; nil if `detail` already says all that is known,
    /// while the output is on air or waits for receivers, and before the first failure.
    package var hint: OutputFailure.Hint?
    /// The round-trip time of the connection, in seconds; nil if the protocol does not measure it, or before it was
    /// measured.
    package var roundTripSeconds: Double?
}

/// Where an output was defined.
package enum OutputOrigin: String, Sendable, Codable {
    /// The output was defined by flags on the command line.
    case flags
    /// The output was defined in the configuration file.
    case file
    /// The output was added by a request to the HTTP API, while the program was running.
    case api
}
