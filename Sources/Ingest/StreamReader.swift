// SPDX-License-Identifier: Apache-2.0

internal import LibAV
internal import Media

/// Reads the selected streams of an open input, packet by packet, whether they are decoded or copied. Damaged data is
/// skipped. Used by one thread.
struct StreamReader {
    private let name: String
    private let demuxer: Demuxer
    private let monitor: SourceMonitor
    private let clock: any MonotonicClock
    private var errors = ReadErrors()
    private var moved: MovedTracks

    /// A packet of any stream of the input, and when it was read.
    typealias Arrival = (packet: PacketBox, time: MonotonicInstant)

    /// Selects the `streams` of `demuxer` and those with the numbers `others`. The input is called `name` in errors,
    /// and its tracks were chosen with `options`. `wanted` are the tracks that are followed to other streams; each may
    /// be silent for `patience`. If the input `lacksAudio` although audio is wanted, the bytes also end when the coding
    /// of a stream changes that is not selected.
    init(
        _ streams: [StreamInfo], others: [Int] = [], of demuxer: Demuxer, name: String, options: TrackOptions,
        wanted: Set<TrackKind>, lacksAudio: Bool, patience: Duration, monitor: SourceMonitor,
        clock: any MonotonicClock = SystemClock()
    ) {
        (self.demuxer, self.name, self.monitor, self.clock) = (demuxer, name, monitor, clock)
        moved = MovedTracks(
            reading: Dictionary(uniqueKeysWithValues: streams.map { ($0.index, $0.kind) }),
            wanted: options.followed(wanted), patience: patience)
        demuxer.select(Set(streams.map(\.index) + others), followsAll: lacksAudio && options.hasAudio)
    }

    /// Reads the next packet of a selected stream, or a packet of another stream that libavformat read while it looked
    /// for streams. Returns nil when the input has ended, the source was stopped, or `isEnding` returns true, with
    /// which the caller cancels the read. Blocks.
    mutating func next(isEnding: () -> Bool = { false }) throws(IngestError) -> Arrival? {
        while !monitor.isStopped, !isEnding() {
            switch monitor.read(demuxer, &errors, isEnding: isEnding) {
            case .packet(let packet): return (packet, clock.now)
            case .nothing: continue
            case .over: return nil
            case .failed(let failure): throw IngestError.unreadable(input: name, reason: failure.message)
            }
        }
        return nil
    }

    /// Throws if `arrival` shows that a track has moved to a stream that did not exist when the input was opened. To be
    /// called with each packet of a live input.
    mutating func follow(_ arrival: Arrival) throws(IngestError) {
        let index = arrival.packet.streamIndex
        let late = demuxer.kindOfLateStream(index, beside: moved.read)
        guard let track = moved.note(index, late: late, at: arrival.time) else { return }
        throw IngestError.unreadable(
            input: name, reason: "its \(track.rawValue) comes in a stream that was not there when it was opened")
    }
}
