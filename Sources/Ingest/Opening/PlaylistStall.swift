// SPDX-License-Identifier: Apache-2.0

internal import LibAV
internal import Synchronization

/// What is remembered of a playlist that stood still, so that its last segments are not played again.
struct PlaylistStall: Sendable {
    /// Asks the server which segment comes next, by its number; nil if that is not known.
    var findEnd: (@Sendable (Interrupter) -> Int64?)?
    /// The number of the segment that was to come when the playlist stood still; nil if it did not, or was open since.
    var end: Int64?
}

extension SourceMonitor {
    /// A read of a playlist took too long: it has no new segment, or its server does not answer. Remembers where it ends.
    /// Blocks for as long as asking takes. On the thread that reads.
    func noteStall() {
        let end = stall.withLock { $0.findEnd }?(interrupter)
        stall.withLock { $0.end = end }
    }

    /// Throws as long as the playlist of the input named `input` has the same end as when it stood still: its last segments
    /// were played already. One that cannot be read is left to libavformat, which says why. Blocks.
    func checkPlaylistAdvances(_ input: String) throws(IngestError) {
        let (findEnd, end) = stall.withLock { ($0.findEnd, $0.end) }
        guard let end else { return }
        if findEnd?(interrupter) == end {
            throw .cannotBeOpened(input: input, reason: "its playlist has no new segment")
        }
        stall.withLock { $0.end = nil }
    }
}
