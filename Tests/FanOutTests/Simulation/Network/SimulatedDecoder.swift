// SPDX-License-Identifier: Apache-2.0

import Media

/// The decoder of a simulated receiver, which may miss packets that its network lost. It shows a frame only if it has
/// shown the frame to which that frame refers.
struct SimulatedDecoder: Sendable {
    private var lastReference: Int64?

    /// Whether the receiver shows or plays `packet`, the next packet that it gets.
    mutating func shows(_ packet: EncodedPacket, of program: SimulatedProgram) -> Bool {
        guard packet.track == .video else { return true }
        let frame = program.frame(packet.pts)
        guard frame.reference == nil || frame.reference == lastReference else { return false }
        if !frame.isDisposable { lastReference = packet.pts }
        return true
    }
}
