// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Finds the track that a sender continues in a stream which was not there when the input was opened, as it does when
/// its transport stream gets other PIDs. That stream is not read, so the input has to be opened again.
///
/// This is a value without a clock or I/O of its own.
struct MovedTracks: Sendable {
    /// The least time for which a track must come in such a stream and in no other: as long as an SRT sender is silent
    /// before another may take its place.
    private static let leastPatience = Duration.seconds(3)

    /// The numbers of the streams that are read.
    let read: Set<Int>
    private let patience: Duration
    /// The kinds of the streams that are read, by their numbers.
    private let streams: [Int: TrackKind]
    private let wanted: Set<TrackKind>
    /// Since when each track came in another stream alone.
    private var since: [TrackKind: Timestamp] = [:]

    /// A look at the packets of an input of which these `streams` are read. Tracks that are not `wanted` may go anywhere; of
    /// those that are some may have no stream yet. The source's tracks may be silent for `patience`: where segments come at
    /// once, one track may be the last of one of them and the first of the next.
    init(reading streams: [Int: TrackKind], wanted: Set<TrackKind>, patience: Duration) {
        (self.streams, self.wanted, read) = (streams, wanted, Set(streams.keys))
        self.patience = max(Self.leastPatience, patience)
    }

    /// Takes in a packet of the stream `index` that was read at `arrival`. `late` is what kind that stream is of, if it was
    /// announced after the input was opened. Returns the track that moved, once that is sure.
    mutating func note(_ index: Int, late: TrackKind?, at arrival: Timestamp) -> TrackKind? {
        if let track = streams[index] { since[track] = nil }
        guard let late, wanted.contains(late) else { return nil }
        let first = since[late] ?? arrival
        since[late] = first
        return arrival - first >= patience ? late : nil
    }

    /// Why `input` cannot be read on when `track` moved.
    static func failure(_ track: TrackKind, input: String) -> IngestError {
        .unreadable(
            input: input, reason: "its \(track.rawValue) comes in a stream that was not there when it was opened")
    }
}

extension TrackOptions {
    /// The ones of `tracks` for which an input is opened again when they moved. These are all but audio that is left
    /// out, and audio that was chosen by number or language: if that audio is gone, video continues without it.
    func followed(_ tracks: Set<TrackKind>) -> Set<TrackKind> {
        hasAudio && audio == nil ? tracks : tracks.subtracting([.audio])
    }
}
