// SPDX-License-Identifier: Apache-2.0

internal import LibAV
internal import Synchronization

/// The state of a playlist that stopped growing, kept so that its last segments are not played again.
struct PlaylistStall: Sendable {
    /// Asks the server for the media sequence number of the playlist's next segment; nil if it is not known.
    var findEnd: (@Sendable (Interrupter) -> Int64?)?
    /// The media sequence number of the segment that was missing when the playlist stalled; nil if the playlist has not
    /// stalled, or was opened since then.
    var end: Int64?
}

extension SourceMonitor {
    /// Called when a read of a playlist took too long: there is no new segment, or the server does not answer. Stores
    /// where the playlist ends. Blocks until the server has answered. Called on the reading thread.
    func noteStall() {
        let end = stall.withLock { $0.findEnd }?(interrupter)
        stall.withLock { $0.end = end }
    }

    /// Throws as long as the playlist of the input `input` still ends where it stalled, because its last segments were
    /// already played. If the playlist cannot be read, does nothing, and libavformat reports why. Blocks.
    func checkPlaylistAdvances(_ input: String) throws(IngestError) {
        let (findEnd, end) = stall.withLock { ($0.findEnd, $0.end) }
        guard let end else { return }
        if findEnd?(interrupter) == end {
            throw .cannotBeOpened(input: input, reason: "its playlist has no new segment")
        }
        stall.withLock { $0.end = nil }
    }
}
