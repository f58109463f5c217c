// SPDX-License-Identifier: Apache-2.0

/// The frame rate of a track that does not say it: measured once, over some seconds without a pause.
package struct MeasuredRate: Sendable {
    /// Nanoseconds over which times in milliseconds tell 59.94 and 60 frames a second apart.
    private static let span: Int64 = 5_000_000_000
    /// Nanoseconds behind which frames are missing.
    private static let pause: Int64 = 500_000_000

    /// What was measured; nil until then. It stays, so that what is counted in it stays where it is.
    package private(set) var rate: FrameRate?
    private var times: ClosedRange<Int64>?
    private var frames: Int64 = 0

    /// Nothing is measured yet.
    package init() {}

    /// Takes the next packet in the order of decoding.
    package mutating func take(_ packet: EncodedPacket) {
        guard rate == nil, packet.track == .video else { return }
        take(frameAt: packet.dtsNanoseconds)
    }

    mutating func take(frameAt time: Int64) {
        guard let times, time > times.upperBound, time - times.upperBound < Self.pause else {
            (self.times, frames) = (time...time, 0)
            return
        }
        frames += 1
        self.times = times.lowerBound...time
        let length = time - times.lowerBound
        guard length >= Self.span else { return }
        let (thousandths, milliseconds) = (frames * 1000, length / 1_000_000)
        let average = FrameRate(Int32(clamping: thousandths), Int32(clamping: milliseconds))
        let nominal = NominalRate.of(average: average, base: average)
        // Milliseconds tell no more than a thousandth apart.
        let whole = (thousandths + milliseconds / 2) / milliseconds
        let isWhole = nominal == average && abs(thousandths - whole * milliseconds) * 1000 <= thousandths
        rate = isWhole ? FrameRate(Int32(clamping: whole)) : nominal
    }
}
