// SPDX-License-Identifier: Apache-2.0

import Media

/// Checks what goes to one decoder: times never go back, and no frame goes out without the frame that it refers to.
struct WireCheck: Sendable {
    private var newest = Int64.min
    private var lastReference: Int64?

    /// Returns what is wrong with `packet`, the next one; nil if nothing is.
    mutating func fault(of packet: EncodedPacket, in program: SimulatedProgram) -> String? {
        let time = packet.dtsNanoseconds
        guard time >= newest else { return "a time goes back by \(newest - time) ns" }
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
