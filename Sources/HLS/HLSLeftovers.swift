// SPDX-License-Identifier: Apache-2.0

internal import Media
internal import Network

/// Files of earlier runs that no playlist names any more. Players may still hold a playlist that did (RFC 8216, 6.2.2).
struct HLSLeftovers {
    private let directory: HLSDirectory
    private let names: [String]

    /// What lies in `directory`.
    init(in directory: HLSDirectory) throws(OutputFailure) {
        self.directory = directory
        names = try directory.names().filter(HLSName.isOurs)
    }

    /// Removes what is not in `kept` and what no player can want any more, and returns the rest. So runs that end early
    /// again and again do not fill the disk.
    func clear(except kept: Set<String>, _ options: HLSOptions) -> Set<String> {
        // A segment is in the playlist for one length of it, and in players' playlists for another.
        let lifetime = options.segmentDuration.inNanoseconds / 1_000_000_000 * Int64(2 * options.listSize + 1)
        let limit = HLSDate.nowMicroseconds / 1_000_000 - lifetime
        let others = Set(names).subtracting(kept)
        var kept = others.filter { HLSName.isSegment($0) && directory.modified($0) >= limit }
        // The header of a run is as old as its first segment.
        let runs = Set(kept.compactMap(HLSName.run(of:)))
        kept.formUnion(others.filter { HLSName.isMap($0) && HLSName.run(of: $0).map(runs.contains) == true })
        others.subtracting(kept).forEach(directory.remove)
        return kept
    }
}
