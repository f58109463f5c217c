// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Finds out whether the decoder of a live track refuses every packet, from the decoder's errors and the times of its
/// packets.
///
/// This is a value without a clock or I/O of its own.
struct DecodingRefusal: Sendable {
    /// How much media must be refused before the decoder is replaced. The media is counted from a packet with which
    /// decoding can begin. The limit holds for the first and the second replacement; it then doubles for each further
    /// replacement, up to ``longestPatience``.
    static let patience = Duration.seconds(1)
    /// The upper bound of the doubled ``patience``.
    static let longestPatience = Duration.seconds(60)
    /// The limit that applies instead of ``patience`` while no packet with which decoding can begin has come. It is the
    /// longest usual distance of keyframes (10 s), and a margin of 2 s.
    static let keyframePatience = Duration.seconds(12)
    /// The minimum number of errors before a decoder is replaced: a single damaged packet proves nothing about the
    /// decoder.
    static let leastErrors = 3

    /// The number of decoders that were replaced since the last decoded frame.
    private(set) var replacements = 0
    /// The times of the first packet, the first keyframe and the newest packet since the last decoded frame or
    /// replacement.
    private var (first, keyframe, newest): (Timestamp?, Timestamp?, Timestamp?)
    private var errors = 0

    /// Creates the state for a decoder that has received no packet yet.
    init() {}

    /// Records a packet that the decoder gets. All audio packets count as keyframes.
    mutating func note(packetAt time: Timestamp, isKeyframe: Bool) {
        // Times that go back mean that the sender's clock was restarted, so the count begins again.
        if let newest, time < newest { (first, keyframe) = (nil, nil) }
        newest = time
        if first == nil { (first, errors) = (time, 0) }
        if isKeyframe, keyframe == nil { (keyframe, errors) = (time, 0) }
    }

    /// Records that the decoder reported an error.
    mutating func noteError() { errors += 1 }

    /// Records that the decoder delivered a frame, which clears all counts.
    mutating func noteFrame() {
        replacements = 0
        forget()
    }

    /// Records that a new decoder replaced the decoder.
    mutating func noteReplacement() {
        replacements += 1
        forget()
    }

    /// Whether the decoder has refused so much media that it must be replaced.
    var isOver: Bool {
        guard errors >= Self.leastErrors, let newest, let first else { return false }
        let patience = min(Self.patience * (1 << min(max(0, replacements - 1), 6)), Self.longestPatience)
        if let keyframe, newest - keyframe >= patience { return true }
        return newest - first >= max(Self.keyframePatience, patience)
    }

    private mutating func forget() { (first, keyframe, newest, errors) = (nil, nil, nil, 0) }
}
