// SPDX-License-Identifier: Apache-2.0

/// What an operator sees of one output.
public struct OutputStatus: Sendable, Codable {
    /// The output's name, unique in its channel.
    public var name: String
    /// Which further encoding of the program it takes; nil for the program's own.
    public var rendition: String?
    /// The protocol.
    public var kind: String
    /// The address without secrets.
    public var address: String
    /// ``OutputState/label``.
    public var state: String
    /// The step of an attempt under way, whom the output waits for, or the cause of the last failure.
    public var detail: String?
    /// Seconds in the present state of being on air; 0 when not.
    public var liveSeconds: Double
    /// Bytes sent, over all connections.
    public var bytes: UInt64
    /// Frames sent, over all connections.
    public var frames: UInt64
    /// Times the output came back on air after the first.
    public var reconnects: Int
    /// Attempts made.
    public var attempts: Int
    /// The queue.
    public var queue: QueueStatus
    /// Numbers of the protocol's own.
    public var details: [String: Double]
    /// Whether the output was ever on air.
    public var wasLive: Bool
    /// Which of the output's addresses `address` is.
    public var endpoint: OutputEndpoint
    /// Keyframes that the output asked for: `relay_output_keyframes_requested_total`, by output.
    public var keyframesRequested = 0
    /// Who asked for the output.
    public var origin = OutputOrigin.flags
    /// The number of the attempt under way; nil if none is.
    public var attempt: Int?
    /// Attempts in a row that failed.
    public var failures = 0
    /// Seconds until the next attempt; nil if none is waited for.
    public var nextAttemptSeconds: Double?
    /// What the last failure means; nil while the output is on air, and before there was one.
    public var cause: OutputFailure.Kind?
    /// The connection's round trip; nil where the protocol does not tell it.
    public var roundTripSeconds: Double?
}

/// Where an output was named.
public enum OutputOrigin: String, Sendable, Codable {
    /// The command line.
    case flags
    /// The configuration file.
    case file
    /// An operator, while the program ran.
    case api
}
