// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Maps a live source's time to program time: a constant offset, found at the first frame and found anew when the source
/// jumps, stalls or has drifted out of its buffer.
struct SourceMapping {
    /// How far a frame may lie ahead of its latency before the source is taken to have jumped.
    private static let slack = Duration.milliseconds(300).inNanoseconds

    /// Nanoseconds to add to the source's time.
    private(set) var offset: Int64 = 0
    /// Whether the offset was found.
    private(set) var isMapped = false
    private var wasMapped = false

    /// The source begins anew.
    mutating func forget() { isMapped = false }

    /// Notes that a frame of source time `time` came at program time `arrival` (nanoseconds, negative before the
    /// program began). The source of the program's video opens the program. Returns whether the mapping had to be found again.
    mutating func note(_ time: Int64, arrival: Int64, latency: Duration, opensProgram: Bool = true) -> Bool {
        let due = arrival + latency.inNanoseconds
        if isMapped {
            let lead = time + offset - arrival
            if lead >= 0, lead <= latency.inNanoseconds + Self.slack { return false }
        }
        defer {
            isMapped = true
            wasMapped = true
        }
        // The program begins one latency after its first frame, so that this frame is its frame 0.
        offset = wasMapped || !opensProgram ? due - time : -time
        return wasMapped
    }
}
