// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Detects that a sender continues a track in a stream that did not exist when the input was opened, for example when
/// the PIDs of a transport stream change. The new stream is not read, so the input must be opened again.
///
/// This is a value without a clock or I/O of its own.
struct MovedTracks: Sendable {
    /// The minimum time for which the packets of a track must arrive only in a new stream before the track counts as
    /// moved. The time is as long as an SRT sender must be silent before another sender is allowed to replace it.
    private static let leastPatience = Duration.seconds(3)

    /// The numbers of the streams that are read.
    let read: Set<Int>
    private let patience: Duration
    /// The kinds of the streams that are read, by their numbers.
    private let streams: [Int: TrackKind]
    private let wanted: Set<TrackKind>
    /// For each track, the time since which its packets have arrived only in a new stream.
    private var since: [TrackKind: MonotonicInstant] = [:]

    /// Creates a detector for an input from which these `streams` are read. Tracks that are not `wanted` are ignored; a
    /// wanted track need not have a stream yet. Each track is allowed to be silent for `patience`: if whole segments
    /// arrive at once, all packets of one track can follow all packets of the other.
    init(reading streams: [Int: TrackKind], wanted: Set<TrackKind>, patience: Duration) {
        (self.streams, self.wanted, read) = (streams, wanted, Set(streams.keys))
        self.patience = max(Self.leastPatience, patience)
    }

    /// Records a packet of the stream `index` that was read at `arrival`. If this stream was announced only after the
    /// input was opened, `late` is its kind. Returns a track as soon as it is certain that the track has moved to this
    /// stream.
    mutating func note(_ index: Int, late: TrackKind?, at arrival: MonotonicInstant) -> TrackKind? {
        if let track = streams[index] { since[track] = nil }
        guard let late, wanted.contains(late) else { return nil }
        let first = since[late] ?? arrival
        since[late] = first
        return arrival - first >= patience ? late : nil
    }
}

extension TrackOptions {
    /// Returns those of `tracks` for which the input is opened again when they move to another stream. Audio is left
    /// out if an option excludes it, or if it was chosen by number or language: if chosen audio disappears, the video
    /// continues without it.
    func followed(_ tracks: Set<TrackKind>) -> Set<TrackKind> {
        hasAudio && audio == nil ? tracks : tracks.subtracting([.audio])
    }
}
