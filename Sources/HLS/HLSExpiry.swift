// SPDX-License-Identifier: Apache-2.0

/// Files that left the playlist and must stay for a while, because players may still use an older playlist. A segment
/// must stay for its own duration plus the duration of the longest playlist that contained it (RFC 8216, 6.2.2).
///
/// Times are monotonic nanoseconds and not program times: after a disk stall, minutes of the program are written in one
/// burst, during which no time passes for a player.
struct HLSExpiry {
    private struct Retired {
        let names: Set<String>
        let due: Int64
    }

    private var retired: [Retired] = []
    /// The playlists that contain a segment which is still listed: for each, the number of its newest segment, and its
    /// duration in microseconds.
    private var published: [(newest: Int64, duration: Int64)] = []

    /// Records a playlist that players can download now, or have already downloaded.
    mutating func publish(_ playlist: HLSPlaylist) {
        published.removeAll { $0.newest < playlist.mediaSequence }
        published.append((playlist.mediaSequence + Int64(playlist.entries.count) - 1, playlist.duration))
    }

    /// Records that these segments, numbered from `first`, left the playlist at `now`. Call it before the playlist
    /// without them is recorded.
    mutating func retire(_ entries: [HLSPlaylist.Entry], first: Int64, at now: Int64) {
        for (number, entry) in zip(first..., entries) {
            let longest = published.filter { $0.newest >= number }.map(\.duration).max() ?? 0
            retired.append(Retired(names: [entry.name, entry.map], due: now + (entry.duration + longest) * 1000))
        }
    }

    /// Records files that may be removed at the time `due`.
    mutating func retire(_ names: Set<String>, due: Int64) { retired.append(Retired(names: names, due: due)) }

    /// All waiting files.
    var names: Set<String> { retired.reduce(into: Set()) { $0.formUnion($1.names) } }

    /// Removes and returns the files that are due at `now`. A header is due when the last segment that needs it is due.
    mutating func takeDue(at now: Int64) -> Set<String> {
        let due = retired.filter { $0.due <= now }
        retired.removeAll { $0.due <= now }
        return due.reduce(into: Set()) { $0.formUnion($1.names) }.subtracting(names)
    }
}
