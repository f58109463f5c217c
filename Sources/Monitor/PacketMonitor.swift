// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import LibAV
package import Logging
package import Media
internal import Synchronization

/// Monitors the audio of a program in passthrough: detects silence and can measure loudness. The monitor decodes the
/// audio packets itself, outside of the path to the outputs. Audio that stops while video continues counts as silence,
/// too.
///
/// The publishing thread never waits: if some seconds of packets are already waiting to be examined, new packets are
/// not examined. Any thread may use a monitor.
package final class PacketMonitor: Sendable {
    private struct State {
        let detector: SilenceDetector
        var silence: Alarm?
        var chain: LoudnessChain?
        var decoder: AudioPacketDecoder?
        /// The track description for which no decoder could be created.
        var broken: TrackDescription?
    }

    /// The maximum number of packets that wait to be examined: 4 s of AAC.
    private static let room = 200

    /// If audio ends more than this before the newest frame, audio is missing. The limit is long,
    /// because broadcasters multiplex audio up to a second later than video.
    private static let longestLag = Duration.seconds(2)

    private let queue: DispatchQueue
    private let waiting = Atomic(0)
    /// The nanoseconds of the end of the newest audio packet or, if it is later, of the time of the first frame after an
    /// interruption of the video; those of distantFuture before the first audio.
    private let audioEnd = Atomic(ProgramInstant.distantFuture.nanoseconds)
    /// The nanoseconds of the presentation time of the newest frame; those of distantPast before the first frame.
    private let videoTime = Atomic(ProgramInstant.distantPast.nanoseconds)
    /// If two consecutive frames are further apart than this, the video itself was interrupted, so
    /// audio that is missing between them is no fault.
    private static let longestFrame = Duration.seconds(1)
    private let logger: Logger
    private let state: Mutex<State>
    private let shown = Mutex(MonitorStatus())

    /// Creates a monitor for the channel `channel`. Throws ``AVFailure`` if loudness must be measured but libavfilter
    /// cannot do it.
    package init(_ settings: MonitorSettings, channel: String, logger: Logger) throws {
        queue = DispatchQueue(label: "relay.monitor.\(channel)", qos: .utility)
        self.logger = logger
        state = Mutex(
            State(
                detector: SilenceDetector(level: settings.silenceLevel), silence: settings.silence.map(Alarm.init),
                chain: settings.measuresLoudness ? try LoudnessChain(target: nil, format: .program) : nil))
    }

    /// Whether no packet waits to be examined.
    var isIdle: Bool { waiting.load(ordering: .relaxed) == 0 }

    /// A snapshot of the status.
    package var status: MonitorStatus { shown.withLock { $0 } }

    /// Receives the next packet of any track, and returns at once. Audio packets are examined later on the monitor's
    /// queue. Frames are not examined: their times only show how long audio has been missing.
    package func take(_ packet: EncodedPacket) {
        let time = packet.programPts
        switch packet.track {
        case .audio:
            let end = time + packet.timeBase.duration(packet.duration)
            audioEnd.store(end.nanoseconds, ordering: .relaxed)
            later { $0.look(at: packet, time..<max(time, end)) }
        case .video:
            let before = ProgramInstant(nanoseconds: videoTime.load(ordering: .relaxed))
            // A frame that is shown before an earlier one is ignored: frames come in decoding order, but the alarm
            // needs times that do not decrease.
            guard time > before else { return }
            videoTime.store(time.nanoseconds, ordering: .relaxed)
            let end = ProgramInstant(nanoseconds: audioEnd.load(ordering: .relaxed))
            guard end < .distantFuture, before > .distantPast else { return }
            if time - before > Self.longestFrame {
                return audioEnd.store(max(end, time).nanoseconds, ordering: .relaxed)
            }
            guard time - end > Self.longestLag else { return }
            later { $0.noteMissing(end..<time) }
        case .data: return
        }
    }

    private func later(_ work: @escaping @Sendable (PacketMonitor) -> Void) {
        guard waiting.load(ordering: .relaxed) < Self.room else { return }
        waiting.wrappingAdd(1, ordering: .relaxed)
        queue.async { [self] in
            work(self)
            waiting.wrappingSubtract(1, ordering: .relaxed)
        }
    }

    private func noteMissing(_ times: Range<ProgramInstant>) {
        tell([state.withLock { $0.silence?.note(.faulty, from: times.lowerBound, to: times.upperBound) }])
    }

    private func look(at packet: EncodedPacket, _ times: Range<ProgramInstant>) {
        let (events, failure) = state.withLock { state -> ([Alarm.Event?], AVFailure?) in
            if state.broken === packet.description { return ([], nil) }
            do throws(AVFailure) {
                return (try Self.read(packet, times, &state), nil)
            } catch {
                // A packet that cannot be decoded may only be damaged, so the error is ignored. If no decoder can be
                // created, this is reported once.
                guard state.decoder == nil else { return ([], nil) }
                state.broken = packet.description
                return ([], error)
            }
        }
        if let failure { logger.error("the audio is not watched", metadata: ["reason": "\(failure)"]) }
        tell(events)
    }

    private func tell(_ events: [Alarm.Event?]) {
        for event in events { AlarmKind.silence.tell(event, to: logger) }
        let status = state.withLock { state in
            var status = MonitorStatus()
            status.loudness = state.chain?.status
            status.silence = state.silence?.status
            return status
        }
        shown.withLock { $0 = status }
    }

    private static func read(
        _ packet: EncodedPacket, _ times: Range<ProgramInstant>, _ state: inout State
    ) throws(AVFailure) -> [Alarm.Event?] {
        if state.decoder?.track !== packet.description {
            state.decoder = nil
            state.decoder = try AudioPacketDecoder(packet.description, subject: "the program's audio")
        }
        var events: [Alarm.Event?] = []
        for audio in try state.decoder?.decode(packet) ?? [] {
            events.append(state.silence?.note(state.detector.read(audio), from: times.lowerBound, to: times.upperBound))
            _ = try state.chain?.process(audio)
        }
        return events
    }
}
