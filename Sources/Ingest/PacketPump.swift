// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import LibAV
internal import Media
internal import SourceClock
internal import Synchronization

/// Reads a live input on a thread of its own, as fast as it comes, so that a read that waits does not keep the decoding
/// thread from decoding what is there. Each packet's times are those of the source's timeline when it is handed on.
final class PacketPump: Sendable {
    /// A track that is read.
    struct Track: Sendable {
        let kind: TrackKind
        let index: Int
        let timeBase: TimeBase
        /// What is added to its stamps, in ticks.
        var shift: Int64 = 0
        /// The clock of its stamps, if they say when it was captured.
        var clock: CaptureClock?
    }

    /// How the reading ended.
    enum Ending: Sendable {
        /// At the input's end, or because it was stopped.
        case over
        /// With this failure.
        case failed(AVFailure)
        /// Because this track comes in a stream that was not there when the input was opened.
        case moved(TrackKind)
    }

    private struct State {
        var packets: [(TrackKind, PacketBox)] = []
        var bytes = 0
        var ending: Ending?
    }

    /// How many bytes may wait to be taken; reading waits beyond it. With what waits to be decoded (`LiveReader.pauseBytes`)
    /// it is less than a track may keep, so that a playlist that was read ahead loses nothing.
    private static let byteLimit = CompressedQueue.byteLimit / 2

    // Used by the pump's own thread alone, from `start()` until `finish()` has returned.
    nonisolated(unsafe) private let demuxer: Demuxer
    private let tracks: [Track]
    /// What is wanted, read or not.
    private let wanted: Set<TrackKind>
    private let timing: SourceTiming
    private let monitor: SourceMonitor
    private let clock: any MonotonicClock
    private let state = Mutex(State())
    private let news = DispatchSemaphore(value: 0)
    private let isStopped = Atomic(false)
    private let group = DispatchGroup()

    /// A pump of these tracks, which notes what it reads with `timing`. It ends when one of the `wanted` tracks comes
    /// in another stream; nil means the tracks that are read. No other thread may use `demuxer` until the pump has
    /// finished.
    init(
        _ demuxer: Demuxer, tracks: [Track], wanted: Set<TrackKind>? = nil, timing: SourceTiming,
        monitor: SourceMonitor, clock: any MonotonicClock = SystemClock()
    ) {
        self.demuxer = demuxer
        self.tracks = tracks
        self.wanted = wanted ?? Set(tracks.map(\.kind))
        self.timing = timing
        self.monitor = monitor
        self.clock = clock
    }

    /// Begins to read. Returns at once.
    func start() {
        DispatchQueue(label: "relay.ingest.read").async(group: group) { [self] in read() }
    }

    /// Ends reading, and the read under way with it, and waits until that is over: some tenths of a second, but for
    /// devices that do not let themselves be interrupted.
    func finish() {
        isStopped.store(true, ordering: .relaxed)
        // A read that was just about to begin sets a new deadline, so this is repeated.
        repeat { monitor.interrupter.expire() } while group.wait(timeout: .now() + .milliseconds(20)) == .timedOut
    }

    /// Takes what was read, in order, and how the reading ended, once everything was taken.
    func take() -> (packets: [(TrackKind, PacketBox)], ending: Ending?) {
        state.withLock { state in
            let packets = state.packets
            (state.packets, state.bytes) = ([], 0)
            return (packets, state.ending)
        }
    }

    /// Waits until there is something to take, or for `timeout`.
    func wait(_ timeout: Duration) { _ = news.wait(timeout: .now() + .nanoseconds(Int(timeout.inNanoseconds))) }

    private func read() {
        var errors = ReadErrors()
        var ends: [Int: Int64] = [:]
        let streams = tracks.map { ($0.index, $0.kind) }
        var moved = MovedTracks(
            reading: Dictionary(uniqueKeysWithValues: streams), wanted: wanted, patience: timing.patience)
        while !isStopped.load(ordering: .relaxed), !monitor.isStopped {
            if state.withLock({ $0.bytes > Self.byteLimit }) {
                monitor.pause(.milliseconds(5))
                continue
            }
            switch monitor.read(demuxer, &errors, isEnding: { isStopped.load(ordering: .relaxed) }) {
            case .packet(let packet):
                let (index, arrival) = (packet.streamIndex, Timestamp(nanoseconds: clock.now))
                take(packet, arrival, &ends)
                let late = demuxer.kindOfLateStream(index, beside: moved.read)
                if let track = moved.note(index, late: late, at: arrival) { return end(.moved(track)) }
            case .nothing: continue
            case .over: return end(.over)
            case .failed(let failure): return end(.failed(failure))
            }
        }
        end(.over)
    }

    /// Notes a packet, gives it its times on the source's timeline and hands it on. `ends` is where the last packet of
    /// each stream ended by its own stamps, for packets without any.
    private func take(_ packet: PacketBox, _ arrival: Timestamp, _ ends: inout [Int: Int64]) {
        guard let track = tracks.first(where: { $0.index == packet.streamIndex }),
            let dts = packet.dts
                ?? Self.decodeTime(pts: packet.pts, end: ends[track.index], in: track.timeBase)
        else { return }
        let shift = track.shift &+ TimeBase.nanoseconds.rescale(track.clock?.shift() ?? 0, to: track.timeBase)
        let stamp = SourceClock.Stamp(
            track.kind, dts: dts &+ shift, pts: (packet.pts ?? dts) &+ shift, duration: packet.duration)
        guard let noted = timing.note(stamp, arrival: arrival) else {
            monitor.update { $0.decodeErrors += 1 }
            return
        }
        ends[track.index] = dts &+ packet.duration
        let base = track.timeBase
        packet.stamp(
            pts: TimeBase.nanoseconds.rescale(noted.time.nanoseconds, to: base),
            dts: TimeBase.nanoseconds.rescale(noted.decodeTime.nanoseconds, to: base))
        state.withLock { state in
            state.packets.append((track.kind, packet))
            state.bytes += packet.size
        }
        news.signal()
    }

    /// When to decode a packet that does not say so: where the one before ended, in ticks of `base`. If its
    /// presentation time is a second or more from there, the sender began again, and that time is used.
    static func decodeTime(pts: Int64?, end: Int64?, in base: TimeBase) -> Int64? {
        guard let pts, let end else { return end ?? pts }
        return base.duration(pts &- end).inNanoseconds.magnitude < 1_000_000_000 ? end : pts
    }

    private func end(_ ending: Ending) {
        state.withLock { $0.ending = ending }
        news.signal()
    }
}
