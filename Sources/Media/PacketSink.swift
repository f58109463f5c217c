// SPDX-License-Identifier: Apache-2.0

/// Takes coded packets in decoding order of both tracks.
///
/// Both calls return at once: a sink neither blocks nor waits for I/O.
public protocol PacketSink: AnyObject, Sendable {
    /// Takes one packet.
    func publish(_ packet: EncodedPacket)
    /// Says that no packet follows.
    func finish()
}

/// The one narrow request that travels upstream.
public protocol KeyframeRequester: Sendable {
    /// Asks that the first frame at or after `programTime` (nanoseconds since the program's start) be an IDR frame;
    /// nil means as soon as possible. A request as soon as possible is rate-limited; one for a given time is not,
    /// because it belongs to a recording's cut. May be called on any thread; returns at once.
    func requestKeyframe(at programTime: Int64?)
}
