// SPDX-License-Identifier: Apache-2.0

internal import LibAV
internal import Synchronization

/// The state of a playlist that stopped growing, kept so that its last segments are not played again.
struct PlaylistStall: Sendable {
    /// Asks the server for the media sequence number that follows in the playlist; nil if that is not known.
    var findEnd: (@Sendable (Interrupter) -> Int64?)?
    /// The media sequence number that was to follow when the playlist stalled; nil if it did not stall, or was open
    /// since then.
    var end: Int64?
}

extension SourceMonitor {
    /// A read of a playlist took too long: there is no new segment, or the server does not answer. Stores where the
    /// playlist ends. Blocks until the server has answered. Called on the reading thread.
    func noteStall() {
        let end = stall.withLock { $0.findEnd }?(interrupter)
        stall.withLock { $0.end = end }
    }

    /// Throws as long as the playlist of the input named `input` ends where it ended when it stalled: its last segments
    /// were already played. If the playlist cannot be read, does nothing: libavformat then reports why. Blocks.
    func checkPlaylistAdvances(_ input: String) throws(IngestError) {
        let (findEnd, end) = stall.withLock { ($0.findEnd, $0.end) }
        guard let end else { return }
        if findEnd?(interrupter) == end {
            throw .cannotBeOpened(input: input, reason: "its playlist has no new segment")
        }
        stall.withLock { $0.end = nil }
    }
}
