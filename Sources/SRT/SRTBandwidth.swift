// SPDX-License-Identifier: Apache-2.0

package import Media

/// Computes the settings of libsrt that depend on a stream's rate: the send rate and the buffer sizes.
///
/// libsrt's own estimate of the rate (`SRTO_INPUTBW` 0) lags behind a variable rate, so relay sets the rate. The set
/// rate is the nominal rate of the transport stream or, if that is higher, the measured rate. The rate is measured over
/// a quarter of the latency, which is limited to the range from 50 ms to 1 s. If sending a keyframe takes longer than
/// that, too little of the latency remains for retransmissions. With an average rate, libsrt dropped packets of the
/// first keyframes at 10 % loss and a latency of 400 ms. The capacity above the set rate is used for retransmissions.
///
/// Times are microseconds.
package struct SRTBandwidth {
    /// The defaults of libsrt: `SRTO_FC` in packets, and `SRTO_SNDBUF` in bytes.
    static let usual = (flowWindow: 25_600, sendBuffer: 12_058_624)
    /// The number of media bytes in a packet, without the UDP and SRT headers.
    private static let payload = 1316
    /// The longest round-trip time, in milliseconds, for which the buffers are large enough.
    private static let roundTrip: Int64 = 1000
    /// The number of seconds for which a measured rate is remembered. It is longer than a usual GOP.
    private static let memory = 30
    /// The size of a burst that an encoder may send in addition to its rate, which is the size of its VBV buffer. It is
    /// given as the time in microseconds in which the encoder's rate produces as many bytes.
    private static let burst: Int64 = 1_000_000

    /// Whether relay limits libsrt's send rate. It does if the address has no `maxbw`.
    let isLimited: Bool
    /// Whether relay also sets the stream's rate. It does if the address has neither `maxbw` nor `inputbw`.
    package let adaptsInput: Bool
    /// Whether relay also sets the overhead. It does if the address has neither `maxbw` nor `oheadbw`.
    package let adaptsOverhead: Bool
    /// The stream's rate that was last set in libsrt (`SRTO_INPUTBW`), in bytes per second.
    package private(set) var input: Int64
    /// The capacity for retransmissions and the packet filter (`SRTO_OHEADBW`), in percent of the stream's rate.
    package let overhead: CInt
    /// The value for `SRTO_FC` in packets; nil if the default is large enough for the round-trip time and the latency.
    let flowWindow: Int64?
    /// The value for `SRTO_SNDBUF` in bytes; nil if the default is large enough for the unacknowledged data.
    let sendBuffer: Int64?

    private let nominal: Int64
    private let window: Int64
    private var (windowStart, windowBytes): (Int64, Int64) = (0, 0)
    private var peak: Int64
    private var recent: [Int64] = []

    /// Computes the settings for the tracks of `description`, which are sent to `url`.
    package init(_ description: StreamDescription, url: SRTURL) {
        nominal = Self.nominal(description)
        window = min(max(url.latencyMilliseconds / 4, 50), 1000) * 1000
        peak = nominal * (window + Self.burst) / window  // counts like a measured rate
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

    /// The rate of the transport stream in bytes per second. Each TS packet of 188 bytes carries 184 bytes. Each access
    /// unit also needs a PES header and on average half a packet of stuffing. 6000 bytes per second are added for the
    /// program tables.
    static func nominal(_ description: StreamDescription) -> Int64 {
        var (bits, rates) = (0.0, 0.0)
        if let video = description.video, let frames = video.frameFormat {
            // For a variable frame rate, 60 frames per second are assumed; few streams have more.
            let rate = video.nominalRate?.value ?? 60
            // A stream encoded with constant quality has no nominal bitrate, so 0.15 bits per pixel are assumed; most
            // frames need less.
            bits += video.bitrate > 0 ? Double(video.bitrate) : Double(frames.width * frames.height) * rate * 0.15
            rates += rate * 130
        }
        if let audio = description.audio, let format = audio.audioFormat {
            bits += audio.bitrate > 0 ? Double(audio.bitrate) : 320_000
            rates += Double(format.sampleRate) / Double(audio.frameLength > 0 ? audio.frameLength : 1024) * 115
        }
        return Int64(bits / 8 * 188 / 184 + rates) + 6000
    }

    /// The overhead of forward error correction in percent: one packet for each row and one for each column of
    /// `filter`, such as `fec,cols:10,rows:5`.
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

    /// Counts the bytes of a frame that was sent at `now`. The caller does not count frames of a backlog.
    package mutating func count(bytes: Int, at now: Int64) {
        if now - windowStart >= window {
            peak = max(peak, windowBytes * 1_000_000 / window)
            (windowStart, windowBytes) = (now, 0)
        }
        windowBytes += Int64(bytes)
    }

    /// Returns the stream's rate to set in libsrt, if the rate has changed by more than a tenth and relay sets the
    /// rate; otherwise nil. Must be called each second. The rate is never below the nominal rate, because a still scene
    /// may end at any time.
    package mutating func update() -> Int64? {
        recent = recent.suffix(Self.memory - 1) + [peak]
        peak = 0
        let wanted = max(nominal, recent.max() ?? 0)
        guard adaptsInput, (wanted - input).magnitude > UInt64(input / 10) else { return nil }
        input = wanted
        return wanted
    }
}
