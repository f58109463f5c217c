// SPDX-License-Identifier: Apache-2.0

internal import CFFmpeg
internal import Media

/// Stamps the packets of a format without timestamps with the times at which they were read.
///
/// libavformat stamps such packets as if there were 25 in a second, whatever the rate of the camera is.
struct ArrivalStamps {
    /// The time base of the stamps. A tick of libavformat's own time base can be as long as a frame.
    static let timeBase = TimeBase.mpegTS
    /// The demuxers of Motion JPEG: as parts of an HTTP response (`multipart/x-mixed-replace`), or as a sequence of
    /// images.
    private static let formats: Set<Substring> = ["mpjpeg", "mjpeg", "image2pipe"]

    private let clock: any MonotonicClock
    private var first: MonotonicInstant?
    /// The newest stamp, in ticks of ``timeBase``.
    private var last: Int64?

    /// Creates stamps with the times of `clock` for the demuxer `formatName`; nil if the demuxer reads timestamps, or
    /// if there is no clock.
    init?(of formatName: String, clock: (any MonotonicClock)?) {
        let names = formatName.split(separator: ",")
        guard let clock, names.contains(where: { Self.formats.contains($0) || $0.hasSuffix("_pipe") }) else {
            return nil
        }
        self.clock = clock
    }

    /// Sets the times of `packet` to the time since the first packet was read. Times always increase, even if several
    /// packets come from a buffer at once.
    mutating func stamp(_ packet: PacketBox) {
        let now = clock.now
        let start = first ?? now
        let time = max(Self.timeBase.ticks(now - start), last.map { $0 + 1 } ?? 0)
        (first, last) = (start, time)
        packet.packet.pointee.pts = time
        packet.packet.pointee.dts = time
        packet.packet.pointee.duration = 0
    }
}
