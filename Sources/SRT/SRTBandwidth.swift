// SPDX-License-Identifier: Apache-2.0

package import Media

/// Computes libsrt's settings for a stream's rate: the send rate and the buffer sizes.
///
/// The library's own estimate of the rate (`SRTO_INPUTBW` 0) lags behind a variable rate, so relay sets the rate: the
/// nominal rate of the transport stream or, if it is higher, the measured rate. The rate is measured over a quarter of
/// the latency. If sending a keyframe takes longer, too little of the latency remains for retransmissions: with an
/// average rate, the library dropped packets of the first keyframes, at 10 % loss and a latency of 400 ms. The capacity
/// above the set rate is for retransmissions.
///
/// Times are microseconds.
package struct SRTBandwidth {
    /// libsrt's defaults: `SRTO_FC` in packets, and `SRTO_SNDBUF` in bytes.
    static let usual = (flowWindow: 25_600, sendBuffer: 12_058_624)
    /// The payload of a packet without the UDP and SRT headers, in bytes.
    private static let payload = 1316
    /// The maximum round-trip time for which the buffers are large enough, in milliseconds.
    private static let roundTrip: Int64 = 1000
    /// How many seconds a measured rate is remembered: longer than a usual GOP.
    private static let memory = 30
    /// The burst that an encoder may send in addition to its rate, as the time in microseconds for which its rate would
    /// send as much: the size of its VBV buffer.
    private static let burst: Int64 = 1_000_000

    /// Whether relay limits the library's send rate, because the address has no `maxbw`.
    let isLimited: Bool
    /// Whether relay also sets the stream's rate, because the address has no `inputbw`.
    package let adaptsInput: Bool
    /// Whether relay also sets the overhead, because the address has no `oheadbw`.
    package let adaptsOverhead: Bool
    /// The stream's rate that was last set in the library: `SRTO_INPUTBW`, in bytes per second.
    package private(set) var input: Int64
    /// `SRTO_OHEADBW`: the additional rate for retransmissions and the packet filter, in percent of the stream's rate.
    package let overhead: CInt
    /// `SRTO_FC`, in packets, if the default is too small for the round-trip time and the latency.
    let flowWindow: Int64?
    /// `SRTO_SNDBUF`, in bytes, if the default is too small for the unacknowledged data.
    let sendBuffer: Int64?

    private let nominal: Int64
    private let window: Int64
    private var (windowStart, windowBytes): (Int64, Int64) = (0, 0)
    private var peak: Int64
    private var recent: [Int64] = []

    /// The rates for the tracks of `description`, sent to `url`.
    package init(_ description: StreamDescription, url: SRTURL) {
        nominal = Self.nominal(description)
        window = min(max(url.latencyMilliseconds / 4, 50), 1000) * 1000
        peak = nominal * (window + Self.burst) / window  // until there is a measurement
        input = peak
        isLimited = url.options[.maxbw] == nil
        adaptsInput = isLimited && url.options[.inputbw] == nil
        adaptsOverhead = isLimited && url.options[.oheadbw] == nil
        overhead = CInt(min(100, 25 + Self.redundancy(url.packetFilter)))
        let held = (nominal + nominal / 4) * (Self.roundTrip + url.latencyMilliseconds) / 1000
        let packets = held / Int64(Self.payload)
        flowWindow = packets > Self.usual.flowWindow ? packets : nil
        let buffer = packets * 1472
        sendBuffer = buffer > Self.usual.sendBuffer ? buffer : nil
    }

    /// The rate of the transport stream, in bytes per second. Each TS packet of 188 bytes carries 184 bytes. In
    /// addition, each access unit needs a PES header and on average half a packet of stuffing, and there are the
    /// tables.
    static func nominal(_ description: StreamDescription) -> Int64 {
        var (bits, rates) = (0.0, 0.0)
        if let video = description.video, let frames = video.frameFormat {
            // A stream of variable rate seldom has more frames per second than this.
            let rate = video.nominalRate?.value ?? 60
            // A stream of constant quality has no nominal rate. 0.15 bits per pixel is more than most frames need.
            bits += video.bitrate > 0 ? Double(video.bitrate) : Double(frames.width * frames.height) * rate * 0.15
            rates += rate * 130
        }
        if let audio = description.audio, let format = audio.audioFormat {
            bits += audio.bitrate > 0 ? Double(audio.bitrate) : 320_000
            rates += Double(format.sampleRate) / Double(audio.frameLength > 0 ? audio.frameLength : 1024) * 115
        }
        return Int64(bits / 8 * 188 / 184 + rates) + 6000
    }

    /// The overhead of forward error correction in percent: a packet for each row and one for each column
    /// (`fec,cols:10,rows:5`).
    static func redundancy(_ filter: String?) -> Int {
        guard let filter else { return 0 }
        var sides: [Substring: Int] = [:]
        for pair in filter.split(separator: ",") {
            let halves = pair.split(separator: ":")
            if halves.count == 2, let number = Int(halves[1]) { sides[halves[0]] = Int(clamping: number.magnitude) }
        }
        guard let columns = sides["cols"], columns > 0 else { return 0 }
        let rows = sides["rows"] ?? 1
        return 100 / columns + (rows > 1 ? 100 / rows : 0)
    }

    /// Counts the bytes of a frame that is sent on time, at `now`.
    package mutating func count(bytes: Int, at now: Int64) {
        if now - windowStart >= window {
            peak = max(peak, windowBytes * 1_000_000 / window)
            (windowStart, windowBytes) = (now, 0)
        }
        windowBytes += Int64(bytes)
    }

    /// Returns the rate to set in the library, if it has changed by more than a tenth. Must be called each second. The
    /// rate is never below the nominal rate, because a still scene may end at any time.
    package mutating func update() -> Int64? {
        recent = recent.suffix(Self.memory - 1) + [peak]
        peak = 0
        let wanted = max(nominal, recent.max() ?? 0)
        guard adaptsInput, (wanted - input).magnitude > UInt64(input / 10) else { return nil }
        input = wanted
        return wanted
    }
}
