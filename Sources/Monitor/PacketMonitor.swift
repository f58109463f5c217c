// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import LibAV
package import Logging
package import Media
internal import Synchronization

/// Watches the audio of a program that is passed through: decodes it, beside the way to the outputs, and measures its
/// loudness and silence.
///
/// Whoever publishes is never kept waiting: when more packets wait than make some seconds, what comes is not looked at.
/// All calls may come from any thread.
package final class PacketMonitor: Sendable {
    private struct State {
        let detector: SilenceDetector
        var silence: Alarm?
        var chain: LoudnessChain?
        var decoder: AudioPacketDecoder?
        /// Where the audio ends that was looked at, in samples of the program.
        var end: Int64 = 0
        /// Audio for which no decoder can be made.
        var broken: TrackDescription?
    }

    /// Packets that may wait: 4 s of AAC.
    private static let room = 200

    private let queue: DispatchQueue
    private let waiting = Atomic(0)
    private let logger: Logger
    private let state: Mutex<State>
    private let shown = Mutex(MonitorStatus())

    /// A monitor for the channel of this name. Throws ``AVFailure`` if loudness is to be measured and libavfilter cannot.
    package init(_ settings: MonitorSettings, channel: String, logger: Logger) throws {
        queue = DispatchQueue(label: "relay.monitor.\(channel)", qos: .utility)
        self.logger = logger
        state = Mutex(
            State(
                detector: SilenceDetector(level: settings.silenceLevel), silence: settings.silence.map(Alarm.init),
                chain: settings.measuresLoudness ? try LoudnessChain(target: nil, format: .program) : nil))
    }

    /// Whether everything that was taken was looked at.
    var isIdle: Bool { waiting.load(ordering: .relaxed) == 0 }

    /// A snapshot.
    package var status: MonitorStatus { shown.withLock { $0 } }

    /// Takes the next packet of any track. Returns at once.
    package func take(_ packet: EncodedPacket) {
        guard packet.track == .audio, waiting.load(ordering: .relaxed) < Self.room else { return }
        waiting.wrappingAdd(1, ordering: .relaxed)
        queue.async { [self] in
            look(at: packet)
            waiting.wrappingSubtract(1, ordering: .relaxed)
        }
    }

    private func look(at packet: EncodedPacket) {
        let (events, failure) = state.withLock { state -> ([Alarm.Event?], AVFailure?) in
            if state.broken === packet.description { return ([], nil) }
            do throws(AVFailure) {
                return (try Self.read(packet, &state), nil)
            } catch {
                // One packet may be damaged; a decoder that cannot be made is told once.
                guard state.decoder == nil else { return ([], nil) }
                state.broken = packet.description
                return ([], error)
            }
        }
        for event in events { AlarmKind.silence.tell(event, to: logger) }
        if let failure { logger.error("the audio is not watched", metadata: ["reason": "\(failure)"]) }
        let status = state.withLock { state in
            var status = MonitorStatus()
            status.loudness = state.chain?.status
            status.silence = state.silence?.status
            return status
        }
        shown.withLock { $0 = status }
    }

    private static func read(_ packet: EncodedPacket, _ state: inout State) throws(AVFailure) -> [Alarm.Event?] {
        if state.decoder?.track !== packet.description {
            state.decoder = nil
            state.decoder = try AudioPacketDecoder(packet.description, subject: "the program's audio")
        }
        var events: [Alarm.Event?] = []
        let base = AudioFormat.program.timeBase
        for audio in try state.decoder?.decode(packet) ?? [] {
            let start = state.end
            state.end += Int64(audio.count)
            events.append(
                state.silence?.note(
                    state.detector.read(audio), from: Timestamp(start, in: base), to: Timestamp(state.end, in: base)))
            _ = try state.chain?.process(audio)
        }
        return events
    }
}
