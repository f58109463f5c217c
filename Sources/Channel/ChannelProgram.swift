// SPDX-License-Identifier: Apache-2.0

internal import Media
internal import Status
internal import Studio

/// What makes a channel's packets: a program that is encoded here, or an input that is passed through. They go into the
/// channel's `PacketStream`.
///
/// ``run()`` occupies the thread that calls it; everything else may be called on any thread and returns at once.
protocol ChannelProgram: AnyObject, Sendable {
    /// The tracks, as far as they are known before the first packet.
    var description: StreamDescription { get }
    /// Makes keyframes on request, if anything does.
    var keyframes: any KeyframeRequester { get }
    /// How long after its time a frame leaves the encoder; nil if it leaves in time.
    var delay: Duration? { get }
    /// The longest time between two keyframes that is expected.
    var gop: Duration { get }
    /// Puts the program on air, and returns how it ended.
    func run() -> ChannelEnd
    /// Ends the program.
    func stop()
    /// The signs of life of the threads that carry its media now.
    var heartbeats: [Heartbeat] { get }
    /// A snapshot; of outputs and the recording it has nothing.
    var status: ChannelStatus { get }
    /// Says what of several sources is seen; nil where there is one.
    var director: Director? { get }
    /// What there is to record of its sources; nil where there is one.
    var recordedSources: RecordedSources? { get }
    /// What else it is encoded as.
    var renditions: [Rendition] { get }
    /// How long after its time a frame leaves the encoder of a rendition; nil if it leaves in time.
    func delay(of rendition: Rendition) -> Duration?
}

extension ChannelProgram {
    var director: Director? { nil }
    var recordedSources: RecordedSources? { nil }
    var renditions: [Rendition] { [] }
    func delay(of rendition: Rendition) -> Duration? { rendition.delay(ahead: 0) }
}
