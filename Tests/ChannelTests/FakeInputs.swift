// SPDX-License-Identifier: Apache-2.0

import Dispatch
import FanOut
import Glibc
import Ingest
import Logging
import Media
import SourceClock
import Synchronization
import TestSupport

@testable import Channel

/// A source of packets that delivers the packets that a test passes to it.
final class FakePacketSource: PacketSource {
    private struct State {
        var sink: (any PacketSourceSink)?
        /// The sink. It is kept after the source was stopped.
        var known: (any PacketSourceSink)?
        var status = SourceStatus()
    }

    private let opened: Result<PacketSourceDescription, IngestError>
    private let state = Mutex(State())

    init(_ opened: Result<PacketSourceDescription, IngestError>) { self.opened = opened }

    var status: SourceStatus { state.withLock { $0.status } }
    /// Whether the source was ever started.
    var wasStarted: Bool { state.withLock { $0.known != nil } }
    /// Whether delivered packets reach a sink at present.
    var delivers: Bool { state.withLock { $0.sink != nil } }

    func open() throws(IngestError) -> PacketSourceDescription { try opened.get() }

    func start(into sink: any PacketSourceSink) {
        state.withLock { ($0.sink, $0.known, $0.status.state) = (sink, sink, .running) }
    }

    func stop() { state.withLock { ($0.sink, $0.status.state) = (nil, .ended) } }

    func deliver(_ packet: EncodedPacket, at moment: MonotonicInstant) {
        state.withLock { $0.sink }?.take(packet, at: moment)
    }

    /// Delivers a packet even if the source was stopped, like a delivery that began before the stop.
    func deliverLate(_ packet: EncodedPacket, at moment: MonotonicInstant) {
        state.withLock { $0.known }?.take(packet, at: moment)
    }

    func restart() { state.withLock { $0.sink }?.restart() }

    func end(failure: String? = nil) {
        let sink = state.withLock { state in
            state.status.state = failure == nil ? .ended : .failed
            state.status.lastError = failure
            return state.sink
        }
        sink?.end(failure: failure)
    }
}

/// The inputs of a channel, by their locations.
final class FakeInputs: InputOpener {
    private struct State {
        var descriptions: [String: PacketSourceDescription] = [:]
        var made: [String: [FakePacketSource]] = [:]
        /// The closures to call when a source is made, by location.
        var whenMade: [String: @Sendable () -> Void] = [:]
        var isGivenUp = false
    }

    private let state = Mutex(State())

    /// Makes the input at `location` available with this description; nil makes it unavailable.
    func set(_ location: String, _ description: PacketSourceDescription?) {
        state.withLock { $0.descriptions[location] = description }
    }

    /// The source that was made last for a location.
    subscript(location: String) -> FakePacketSource? { all(location).last }

    /// All sources that were made for a location, in order.
    func all(_ location: String) -> [FakePacketSource] { state.withLock { $0.made[location] ?? [] } }

    /// Cancels the opening of the channel, before it begins.
    func giveUp() { state.withLock { $0.isGivenUp = true } }

    /// Calls `work` once, when the next source for `location` has been made and is not open yet.
    func whenMade(_ location: String, _ work: @escaping @Sendable () -> Void) {
        state.withLock { $0.whenMade[location] = work }
    }

    func packets(
        at location: InputLocation, loops: Bool, needs: TrackKind?, opening: SourceOpening?, clock: any MonotonicClock,
        logger: Logger
    ) -> any PacketSource {
        let (source, work) = state.withLock { state in
            let name = location.description
            let source = FakePacketSource(
                state.descriptions[name].map { .success($0) }
                    ?? .failure(.cannotBeOpened(input: name, reason: "it is away")))
            state.made[name, default: []].append(source)
            return (source, state.whenMade.removeValue(forKey: name))
        }
        work?()
        return source
    }

    func open(
        _ location: InputLocation, _ options: IngestOptions, opening: SourceOpening?, clock: any MonotonicClock,
        logger: Logger
    ) throws(ChannelFailure) -> any MediaSource {
        throw ChannelFailure(.inputUnreadable, .openInput("\(location)"), because: "it has only packets")
    }

    func whenGivenUp(_ work: @escaping @Sendable () -> Void) {
        if state.withLock({ $0.isGivenUp }) { work() }
    }
}

/// A clock that only the test moves. A sleeping thread wakes when the clock is moved, or after 1 ms to check whether it is
/// still wanted.
final class SteppedClock: MonotonicClock {
    private let time = Atomic<Int64>(0)
    private let moved = DispatchSemaphore(value: 0)

    var now: MonotonicInstant { MonotonicInstant(nanoseconds: time.load(ordering: .relaxed)) }

    func sleep(until deadline: MonotonicInstant) {
        if now < deadline { _ = moved.wait(timeout: .now() + .milliseconds(1)) }
    }

    func set(_ moment: MonotonicInstant) {
        time.store(moment.nanoseconds, ordering: .relaxed)
        moved.signal()
    }
}

/// Collects the packets that go on air.
final class CollectedPackets: PacketConsumer {
    private let packets = Mutex<[EncodedPacket]>([])

    var all: [EncodedPacket] { packets.withLock { $0 } }
    var frames: [EncodedPacket] { all.filter { $0.track == .video } }

    func accept(_ packets: [EncodedPacket]) -> (any PacketServer)? {
        self.packets.withLock { $0 += packets }
        return nil
    }
}

/// Counts the deliveries to a consumer that handles each one slowly, and how many of them were concurrent.
final class CountedCalls: PacketConsumer {
    private let state = Mutex((total: 0, now: 0, most: 0))
    var total: Int { state.withLock { $0.total } }
    var most: Int { state.withLock { $0.most } }

    func accept(_ packets: [EncodedPacket]) -> (any PacketServer)? {
        state.withLock { $0 = ($0.total + 1, $0.now + 1, max($0.most, $0.now + 1)) }
        for _ in 0..<50 { sched_yield() }
        state.withLock { $0.now -= 1 }
        return nil
    }
}

/// A passthrough of fake inputs.
final class PassthroughBench: Sendable {
    let inputs: FakeInputs
    let air = CollectedPackets()
    let passthrough: Passthrough
    /// What the program logs.
    let log = CollectedLog(from: .notice)
    private let hub = PacketStream(delivery: .immediate)
    private let result = Mutex<ChannelEnd?>(nil)

    init(_ inputs: FakeInputs, _ configuration: ChannelConfiguration, clock: any MonotonicClock) throws {
        self.inputs = inputs
        passthrough = try Passthrough(
            configuration, into: hub, recordings: ChannelRecordings(hub: hub, group: DispatchGroup()),
            listening: inputs, clock: clock, logger: log.logger)
        hub.begin(passthrough.description, keyframes: passthrough.keyframes)
        hub.add(air)
    }

    /// Begins the program, on a thread of its own.
    func begin() {
        DispatchQueue.global().async { [self] in
            let end = passthrough.run()
            result.withLock { $0 = end }
        }
    }

    /// Adds another consumer of the packets that go on air.
    func add(_ consumer: any PacketConsumer) { hub.add(consumer) }

    /// How the program ended; nil while it runs.
    var end: ChannelEnd? { result.withLock { $0 } }
}

/// A sender of 25 frames a second, with a keyframe each second, and 50 pieces of audio.
struct FakeSender {
    let video: TrackDescription
    let audio: TrackDescription
    /// The sender's timestamp, in milliseconds, when the clock shows 0.
    var offset: Int64

    /// Creates a sender that is recognized by one byte of its tracks' configuration.
    init(_ mark: UInt8, offset: Int64 = 0) {
        video = TrackDescription(
            video: .h264, frames: FrameFormat(width: 320, height: 180, sampleAspectRatio: .square, color: .bt709),
            timeBase: .milliseconds, decoderConfiguration: SharedBytes([mark]), bitrate: 0, nominalRate: nil)
        audio = TrackDescription(
            audio: .aac, format: .program, timeBase: .milliseconds, decoderConfiguration: SharedBytes([mark]),
            bitrate: 0, frameLength: 960)
        self.offset = offset
    }

    func description(canWait: Bool = false) -> PacketSourceDescription {
        PacketSourceDescription(
            stream: StreamDescription(video: video, audio: audio), canWait: canWait, clock: canWait ? .file : .rtmp,
            stampBits: nil)
    }

    /// The packets that the sender sends at `time`, which is a multiple of 40 ms.
    func packets(at time: Int64) -> [EncodedPacket] {
        [packet(audio, time, 20), packet(audio, time + 20, 20), packet(video, time, 40, isKeyframe: time % 1000 == 0)]
    }

    private func packet(
        _ track: TrackDescription, _ time: Int64, _ duration: Int64, isKeyframe: Bool = true
    ) -> EncodedPacket {
        EncodedPacket(
            of: track, pts: time + offset, dts: time + offset, duration: duration, isKeyframe: isKeyframe,
            payload: SharedBytes([UInt8(truncatingIfNeeded: time / 40), UInt8(truncatingIfNeeded: time / 10_240)]))
    }
}

extension EncodedPacket {
    /// The mark of the packet's sender.
    var mark: UInt8? { description.decoderConfiguration.array.first }
}

extension Instant {
    init(milliseconds: Int64) { self.init(nanoseconds: milliseconds * 1_000_000) }
}
