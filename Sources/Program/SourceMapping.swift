// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Maps a live source's time to program time: a constant offset, found at the first frame and found anew when the source
/// jumps, stalls or has drifted out of its buffer.
struct SourceMapping {
    /// How far a frame may lie ahead of its latency before the source is taken to have jumped.
    private static let slack = Duration.milliseconds(300)

    /// What to add to the source's time.
    private(set) var offset = Duration.zero
    /// Whether the offset was found.
    private(set) var isMapped = false
    private var wasMapped = false

    /// The source begins anew.
    mutating func forget() { isMapped = false }

    /// Notes that a frame of source time `time` came at program time `arrival`, which is negative before the
    /// program began. The source of the program's video opens the program. Returns whether the mapping had to be found again.
    mutating func note(_ time: Timestamp, arrival: Timestamp, latency: Duration, opensProgram: Bool = true) -> Bool {
        let due = arrival + latency
        if isMapped {
            let lead = time + offset - arrival
            if lead >= .zero, lead <= latency + Self.slack { return false }
        }
        defer {
            isMapped = true
            wasMapped = true
        }
        // The program begins one latency after its first frame, so that this frame is its frame 0.
        offset = wasMapped || !opensProgram ? due - time : .zero - time
        return wasMapped
    }
}
