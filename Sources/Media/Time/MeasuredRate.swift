// SPDX-License-Identifier: Apache-2.0

/// Measures the frame rate of a track that does not declare one. The rate is measured once, over 5 seconds without a
/// pause.
package struct MeasuredRate: Sendable {
    /// The length of the measurement, in nanoseconds. It is long enough to distinguish 59.94 from 60 frames per second
    /// even if timestamps are in milliseconds.
    private static let span: Int64 = 5_000_000_000
    /// An interval of at least this length, in nanoseconds, means that frames are missing. The measurement then begins
    /// again.
    private static let pause: Int64 = 500_000_000

    /// The measured rate; nil until the measurement is complete. It never changes afterwards, because frame numbers
    /// depend on it.
    package private(set) var rate: FrameRate?
    private var times: ClosedRange<Int64>?
    private var frames: Int64 = 0

    /// A measurement that has not begun.
    package init() {}

    /// Records the next packet, in decoding order. Only video packets count.
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
        // With timestamps in milliseconds, the measured rate is not exact. A rate that is near no standard rate, but
        // within a thousandth of a whole number, is therefore rounded to this number.
        let whole = (thousandths + milliseconds / 2) / milliseconds
        let isWhole = nominal == average && abs(thousandths - whole * milliseconds) * 1000 <= thousandths
        rate = isWhole ? FrameRate(Int32(clamping: whole)) : nominal
    }
}
