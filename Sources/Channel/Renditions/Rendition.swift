// SPDX-License-Identifier: Apache-2.0

internal import Encoder
internal import FanOut
internal import Logging
internal import Media
internal import Status

/// A further encoding of a program: an encoder session with a ``FanOut/PacketStream`` of its own. All calls may be made
/// on any thread.
struct Rendition: Sendable {
    let name: String
    let settings: EncoderSettings
    let format: VideoFormat
    let encoder: BackgroundEncoder
    /// The stream of the rendition's packets.
    let stream: PacketStream

    /// Opens the encoder session of `specification` for a program of `format` that is encoded with the settings
    /// `program`. Packets go to `stream`. Blocks until the session is open. Throws ``ChannelFailure``.
    init(
        _ specification: RenditionSpecification, of format: VideoFormat, beside program: EncoderSettings,
        into stream: PacketStream, clock: any MonotonicClock, logger: Logger
    ) throws(ChannelFailure) {
        (name, self.stream) = (specification.name, stream)
        settings = specification.settings(beside: program)
        self.format = specification.format(of: format)
        var logger = logger
        logger[metadataKey: "rendition"] = "\(name)"
        encoder = try BackgroundEncoder(
            .init(subject: "the rendition \(name)", thread: "relay.rendition"), settings, format: self.format,
            into: stream, clock: clock, logger: logger)
    }

    /// Returns how long after its presentation time a frame leaves the encoder, if the program runs `frames` frames
    /// ahead. Returns nil if frames leave the encoder before that time.
    func delay(ahead frames: Int) -> Duration? {
        let late = encoder.delayInFrames - frames
        return late > 0 ? format.frameRate.timeBase.duration(Int64(late)) : nil
    }

    /// A snapshot of the rendition's status.
    var status: RenditionStatus {
        RenditionStatus(
            name: name, width: format.width, height: format.height, encoder: encoder.status,
            droppedFrames: encoder.dropped, failure: encoder.failure)
    }
}
