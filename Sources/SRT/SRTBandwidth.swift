// SPDX-License-Identifier: Apache-2.0

package import Media

/// What libsrt has to know of a stream's rate: how fast it may send, and how much it may hold.
///
/// The library's own estimate of the rate (`SRTO_INPUTBW` 0) lags behind a rate that varies, so it is told: the nominal
/// rate of the transport stream, or the measured one where that is higher. It is measured over a quarter of the latency. A
/// keyframe that takes longer to get out leaves too little of the latency for sending again what is lost of it: told an
/// average, the library lost packets for good in the first keyframes, with a tenth of all lost and a latency of 400 ms.
/// What goes beyond it is for retransmissions.
///
/// Times are microseconds.
package struct SRTBandwidth {
    /// What libsrt uses if it is told nothing: `SRTO_FC` in packets, and `SRTO_SNDBUF` in bytes.
    static let usual = (flowWindow: 25_600, sendBuffer: 12_058_624)
    /// The packets' payload beside the UDP and SRT headers, in bytes.
    private static let payload = 1316
    /// The longest round trip that the buffers are computed for, in milliseconds.
    private static let roundTrip: Int64 = 1000
    /// How many seconds a measured rate is remembered: longer than a usual GOP.
    private static let memory = 30
    /// What an encoder may put out at once beside its rate, in microseconds of that rate: the buffer of its VBV.
    private static let burst: Int64 = 1_000_000

    /// Whether the library's rate is to follow from the stream's, because the address gives no `maxbw`.
    let isLimited: Bool
    /// Whether it is told the stream's rate, because the address gives no `inputbw` either.
    package let adaptsInput: Bool
    /// Whether what may be added is ours to say, because the address gives no `oheadbw` either.
    package let adaptsOverhead: Bool
    /// The stream's rate, as the library was last told: `SRTO_INPUTBW`, in bytes a second.
    package private(set) var input: Int64
    /// `SRTO_OHEADBW`: what retransmissions and the packet filter may add, in percent of the stream's rate.
    package let overhead: CInt
    /// `SRTO_FC`, in packets, if the usual one is too small for the round trip and the latency.
    let flowWindow: Int64?
    /// `SRTO_SNDBUF`, in bytes, if the usual one is too small for what waits for its acknowledgement.
    let sendBuffer: Int64?

    private let nominal: Int64
    private let window: Int64
    private var (windowStart, windowBytes): (Int64, Int64) = (0, 0)
    private var peak: Int64
    private var recent: [Int64] = []

    /// The rates for the streams of `description`, sent to `url`.
    package init(_ description: StreamDescription, url: SRTURL) {
        nominal = Self.nominal(description)
        window = min(max(url.latencyMilliseconds / 4, 50), 1000) * 1000
        peak = nominal * (window + Self.burst) / window  // until something is measured
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

    /// Bytes a second of a transport stream: each packet of 188 bytes carries 184; each access unit costs a PES header and
    /// on average half a packet of stuffing; then come the tables.
    static func nominal(_ description: StreamDescription) -> Int64 {
        var (bits, rates) = (0.0, 0.0)
        if let video = description.video, let frames = video.frameFormat {
            // A variable rate is seldom higher.
            let rate = video.nominalRate?.value ?? 60
            // A stream of constant quality has no rate: 0.15 bits a pixel is more than most frames need.
            bits += video.bitrate > 0 ? Double(video.bitrate) : Double(frames.width * frames.height) * rate * 0.15
            rates += rate * 130
        }
        if let audio = description.audio, let format = audio.audioFormat {
            bits += audio.bitrate > 0 ? Double(audio.bitrate) : 320_000
            rates += Double(format.sampleRate) / Double(audio.frameLength > 0 ? audio.frameLength : 1024) * 115
        }
        return Int64(bits / 8 * 188 / 184 + rates) + 6000
    }

    /// What forward error correction adds, in percent: a packet for each row and one for each column
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

    /// Takes in what a frame that is in time has added at `now`.
    package mutating func count(bytes: Int, at now: Int64) {
        if now - windowStart >= window {
            peak = max(peak, windowBytes * 1_000_000 / window)
            (windowStart, windowBytes) = (now, 0)
        }
        windowBytes += Int64(bytes)
    }

    /// Called each second: returns the rate that the library has to be told, if it changed by more than a tenth. It is
    /// never below the nominal rate: a still frame is followed by others.
    package mutating func update() -> Int64? {
        recent = recent.suffix(Self.memory - 1) + [peak]
        peak = 0
        let wanted = max(nominal, recent.max() ?? 0)
        guard adaptsInput, (wanted - input).magnitude > UInt64(input / 10) else { return nil }
        input = wanted
        return wanted
    }
}
