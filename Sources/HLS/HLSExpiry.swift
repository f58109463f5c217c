// SPDX-License-Identifier: Apache-2.0

internal import Media

/// The files that have left the playlist and must stay for a while, because players may still use an older playlist. A
/// segment must stay for its own duration plus the duration of the longest playlist that contained it (RFC 8216,
/// 6.2.2).
///
/// Times are those of the monotonic clock and not program times. After a disk stall, minutes of the program are written in one
/// burst. For a player, almost no time passes during that burst.
struct HLSExpiry {
    private struct Retired {
        let names: Set<String>
        let due: MonotonicInstant
    }

    private var retired: [Retired] = []
    /// The published playlists that contain a segment which is still in the playlist. For each one, the number of its
    /// newest segment, and its duration in microseconds.
    private var published: [(newest: Int64, duration: Int64)] = []

    /// Records a playlist that players can download now, or have downloaded before.
    mutating func publish(_ playlist: HLSPlaylist) {
        published.removeAll { $0.newest < playlist.mediaSequence }
        published.append((playlist.mediaSequence + Int64(playlist.entries.count) - 1, playlist.duration))
    }

    /// Records that the segments `entries` left the playlist at `now`. `first` is the number of the oldest of these
    /// segments. This must be called before the playlist without them is published.
    mutating func retire(_ entries: [HLSPlaylist.Entry], first: Int64, at now: MonotonicInstant) {
        for (number, entry) in zip(first..., entries) {
            let longest = published.filter { $0.newest >= number }.map(\.duration).max() ?? 0
            retired.append(Retired(names: [entry.name, entry.map], due: now + .microseconds(entry.duration + longest)))
        }
    }

    /// Records files that may be removed at the time `due`.
    mutating func retire(_ names: Set<String>, due: MonotonicInstant) {
        retired.append(Retired(names: names, due: due))
    }

    /// The names of all files that are still kept.
    var names: Set<String> { retired.reduce(into: Set()) { $0.formUnion($1.names) } }

    /// Removes the files that may be deleted at `now` from the list, and returns their names. A header may be deleted
    /// together with the last segment that needs it.
    mutating func takeDue(at now: MonotonicInstant) -> Set<String> {
        let due = retired.filter { $0.due <= now }
        retired.removeAll { $0.due <= now }
        return due.reduce(into: Set()) { $0.formUnion($1.names) }.subtracting(names)
    }
}
