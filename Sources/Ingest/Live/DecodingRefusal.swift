// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Sees whether the decoder of a live track refuses everything, by the times of the packets that it gets.
///
/// A value without a clock or I/O of its own.
struct DecodingRefusal: Sendable {
    /// How much media may be refused from a packet on with which decoding can begin. From the second replacement on it
    /// doubles with each, up to ``longestPatience``.
    static let patience = Duration.seconds(1)
    /// The longest that ``patience`` becomes.
    static let longestPatience = Duration.seconds(60)
    /// How much media may be refused without such a packet: the longest distance of keyframes that is usual (10 s), and a
    /// little more.
    static let keyframePatience = Duration.seconds(12)
    /// The least number of errors. A single damaged packet says nothing about the decoder.
    static let leastErrors = 3

    /// Decoders that were replaced since the last frame.
    private(set) var replacements = 0
    /// Times since the last frame or replacement: of the first packet, of the first keyframe and of the newest packet.
    private var (first, keyframe, newest): (Duration?, Duration?, Duration?)
    private var errors = 0

    /// A look at a decoder that got nothing yet.
    init() {}

    /// The decoder gets a packet. Audio consists of keyframes.
    mutating func note(packetAt time: Duration, isKeyframe: Bool) {
        // The sender's clock began again.
        if let newest, time < newest { (first, keyframe) = (nil, nil) }
        newest = time
        if first == nil { (first, errors) = (time, 0) }
        if isKeyframe, keyframe == nil { (keyframe, errors) = (time, 0) }
    }

    /// The decoder reported an error.
    mutating func noteError() { errors += 1 }

    /// The decoder gave a frame.
    mutating func noteFrame() {
        replacements = 0
        forget()
    }

    /// Another decoder takes over.
    mutating func noteReplacement() {
        replacements += 1
        forget()
    }

    /// Whether the decoder had its chance.
    var isOver: Bool {
        guard errors >= Self.leastErrors, let newest, let first else { return false }
        let patience = min(Self.patience * (1 << min(max(0, replacements - 1), 6)), Self.longestPatience)
        if let keyframe, newest - keyframe >= patience { return true }
        return newest - first >= max(Self.keyframePatience, patience)
    }

    private mutating func forget() { (first, keyframe, newest, errors) = (nil, nil, nil, 0) }
}
