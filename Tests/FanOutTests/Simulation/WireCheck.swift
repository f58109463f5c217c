// SPDX-License-Identifier: Apache-2.0

import Media

/// Checks the packets that one decoder gets: times must never decrease, and no frame may come without the frame to
/// which it refers.
struct WireCheck: Sendable {
    private var newest = ProgramInstant.distantPast
    private var lastReference: Int64?

    /// Checks `packet`, the next packet. Returns the fault; nil if there is no fault.
    mutating func fault(of packet: EncodedPacket, in program: SimulatedProgram) -> String? {
        let time = packet.programDts
        guard time >= newest else { return "a time goes back by \(newest - time)" }
        newest = time
        guard packet.track == .video else { return nil }
        let frame = program.frame(packet.pts)
        if let reference = frame.reference, reference != lastReference {
            return "frame \(packet.pts) goes out without frame \(reference)"
        }
        if !frame.isDisposable { lastReference = packet.pts }
        return nil
    }
}
