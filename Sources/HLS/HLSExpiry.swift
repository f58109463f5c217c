// SPDX-License-Identifier: Apache-2.0

/// Files that left the playlist and must stay for a while: a segment for its own duration and that of the longest playlist
/// which named it (RFC 8216, 6.2.2), because players may still hold that playlist.
///
/// Times are monotonic nanoseconds. They are not times of the program: what a disk that stood still takes in one burst is
/// minutes of the program and no time for a player.
struct HLSExpiry {
    private struct Retired {
        let names: Set<String>
        let due: Int64
    }

    private var retired: [Retired] = []
    /// The playlists that name a segment which has not left yet: the number of each one's newest segment, and its
    /// duration in microseconds.
    private var published: [(newest: Int64, duration: Int64)] = []

    /// Notes a playlist that players can get from now on, or can have got already.
    mutating func publish(_ playlist: HLSPlaylist) {
        published.removeAll { $0.newest < playlist.mediaSequence }
        published.append((playlist.mediaSequence + Int64(playlist.entries.count) - 1, playlist.duration))
    }

    /// Notes that these segments have left the playlist at `now`. They are numbered from `first`. Called before the
    /// playlist without them is noted.
    mutating func retire(_ entries: [HLSPlaylist.Entry], first: Int64, at now: Int64) {
        for (number, entry) in zip(first..., entries) {
            let longest = published.filter { $0.newest >= number }.map(\.duration).max() ?? 0
            retired.append(
                Retired(names: [entry.name, entry.map], due: now + (entry.duration + longest) * 1000))
        }
    }

    /// Notes files of which nothing is known but that they may go at `due`.
    mutating func retire(_ names: Set<String>, due: Int64) { retired.append(Retired(names: names, due: due)) }

    /// All files that wait.
    var names: Set<String> { retired.reduce(into: Set()) { $0.formUnion($1.names) } }

    /// Takes out the files that can go at `now`. A header goes with the last segment that needs it.
    mutating func takeDue(at now: Int64) -> Set<String> {
        let due = retired.filter { $0.due <= now }
        retired.removeAll { $0.due <= now }
        return due.reduce(into: Set()) { $0.formUnion($1.names) }.subtracting(names)
    }
}
