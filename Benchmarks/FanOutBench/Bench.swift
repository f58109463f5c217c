// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import FanOut
internal import Foundation
internal import Logging
internal import Media
internal import Publisher
internal import RTMP

/// A packet stream, its outputs and the feed, connected as in a channel. Used by one thread.
final class Bench {
    /// A requester that ignores requests for keyframes: the clip contains keyframes, and no encoder makes others.
    private struct NoKeyframes: KeyframeRequester {
        func requestKeyframe(at programTime: ProgramInstant?) {}
    }

    private let clip: Clip
    private let hub = PacketStream()
    private let feed = Feed()
    private var healthy: [OutputSupervisor] = []
    private var others: [OutputSupervisor] = []

    init(clip: Clip) { self.clip = clip }

    /// Adds an output that publishes to `url`. If it is not healthy, it is not measured.
    func add(_ url: String, pool: RTMPWriterPool, isHealthy: Bool) throws {
        let name = "rtmp-\(healthy.count + others.count + 1)"
        let description = clip.description
        let output = OutputSupervisor(
            name: name, target: RTMPTarget(url: try RTMPURL(url), name: name, pool: pool),
            description: description, keyframes: NoKeyframes(), logger: Logger(label: "bench"))
        hub.add(output)
        if isHealthy { healthy.append(output) } else { others.append(output) }
    }

    /// Starts the outputs and the feed.
    func start() {
        for output in others + healthy { output.start() }
        let hub = hub
        feed.start(clip) { beat, lap in
            for packet in beat.audio { hub.publish(packet.delayed(by: lap)) }
            hub.publish(beat.video.delayed(by: lap))
        }
    }

    /// Waits until all healthy outputs are on air. Returns how many seconds that took; nil if it takes longer than
    /// `limit`.
    func awaitLive(within limit: Double) -> Double? {
        let start = ContinuousClock.now
        while true {
            let seconds = (ContinuousClock.now - start) / .seconds(1)
            if healthy.allSatisfy({ $0.status.state == .live }) { return seconds }
            if seconds > limit { return nil }
            Thread.sleep(forTimeInterval: 0.01)
        }
    }

    /// The healthy outputs.
    var statuses: [OutputStatus] { healthy.map(\.status) }
    /// The number of bytes that the healthy outputs have sent.
    var bytes: UInt64 { healthy.reduce(0) { $0 + $1.status.bytes } }
    /// Number of frames that were published.
    var published: Int { feed.published.count }

    /// Watches up to 16 outputs for `seconds`, including the first and the last, and compares when frames were
    /// published with when they were sent. Watching costs CPU time, so it is not done while CPU time is measured.
    func sampleDelay(seconds: Int) -> Measurement.Delay? {
        guard !healthy.isEmpty else { return nil }
        let count = min(16, healthy.count)
        let watched = (0..<count).map { healthy[$0 * (healthy.count - 1) / max(1, count - 1)] }
        var probe = DelayProbe(outputs: count)
        let end = ContinuousClock.now + .seconds(seconds)
        while ContinuousClock.now < end {
            for (index, output) in watched.enumerated() {
                let sent = Int(output.status.frames)
                probe.note(sent: sent, by: index, at: SystemClock().now, published: feed.published)
            }
            usleep(300)
        }
        return probe.result
    }

    /// Ends the feed and the outputs.
    func end() {
        feed.stop()
        hub.finish()
        let group = DispatchGroup()
        let deadline = SystemClock().now + .seconds(2)
        for output in healthy + others {
            group.enter()
            output.finish(deadline: deadline) { group.leave() }
        }
        _ = group.wait(timeout: .now() + 3)
    }
}
