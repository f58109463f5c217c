// SPDX-License-Identifier: Apache-2.0

internal import Media
internal import Status
internal import Studio

/// The producer of a channel's packets: a program that is encoded here, or an input that is passed through. The packets
/// go into the channel's `PacketStream`.
///
/// ``run()`` occupies the thread that calls it. Everything else may be called on any thread and returns at once.
protocol ChannelProgram: AnyObject, Sendable {
    /// The program's tracks, as far as they are known before the first packet.
    var description: StreamDescription { get }
    /// Makes keyframes on request, if the program has an encoder.
    var keyframes: any KeyframeRequester { get }
    /// How long after its presentation time a frame leaves the encoder; nil if frames leave the encoder before that
    /// time, or if the video is not encoded here.
    var delay: Duration? { get }
    /// The longest expected time between two keyframes.
    var gop: Duration { get }
    /// Puts the program on air. Blocks until it ends, and returns how it ended.
    func run() -> ChannelEnd
    /// Ends the program.
    func stop()
    /// The heartbeats of the threads that currently carry the program's media.
    var heartbeats: [Heartbeat] { get }
    /// A snapshot of the program's status, without the outputs and the recording.
    var status: ChannelStatus { get }
    /// Decides which sources are visible; nil for a program without scenes.
    var director: Director? { get }
    /// The program's sources that can be recorded individually; nil for a program without scenes.
    var recordedSources: RecordedSources? { get }
    /// The further encodings of the program.
    var renditions: [Rendition] { get }
    /// Returns how long after its presentation time a frame leaves the encoder of a rendition; nil if frames leave the
    /// encoder before that time.
    func delay(of rendition: Rendition) -> Duration?
}

extension ChannelProgram {
    var director: Director? { nil }
    var recordedSources: RecordedSources? { nil }
    var renditions: [Rendition] { [] }
    func delay(of rendition: Rendition) -> Duration? { rendition.delay(ahead: 0) }
}
