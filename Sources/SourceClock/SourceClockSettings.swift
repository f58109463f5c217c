// SPDX-License-Identifier: Apache-2.0

internal import Media

/// How a ``SourceClock`` treats one input. The defaults of each transport were measured with libavformat on loopback:
/// 20 s each of what ffmpeg and nginx-rtmp send, and simulated days of jitter, drift and stalls.
package struct SourceClockSettings: Sendable, Hashable {
    /// What an arrival says about the sender's clock.
    package enum Arrivals: Sendable, Hashable {
        /// The earliest packets show the sender's clock, the latest ones how much buffer it takes.
        case jitter
        /// Packets come a segment at a time: the first one is placed at once, and what the start burst holds is the
        /// buffer.
        case bursts
        /// Stamps are readings of our own monotonic clock, taken when a frame or sample was captured: arrival says only
        /// how much buffer it takes.
        case captureTime
        /// None: the source waits to be read. Times are made continuous, and nothing is placed.
        case none
    }

    /// What arrivals say.
    package var arrivals: Arrivals
    /// The least buffer over the earliest packets of the track that comes later; 0 or more. Two thirds of it are the
    /// least over the first ones of packets that come together.
    package var latency: Duration
    /// The most buffer over the earliest packets that is granted by itself, or half a second over the latency. What is
    /// later is late, and the last frame stands, until nothing but late packets came for 3 s.
    package var limit: Duration
    /// How long packets are collected before the first is placed. The second half of it counts, so that the burst with
    /// which libavformat's probe begins falls away.
    package var collecting: Duration
    /// Whether both tracks are stamped by one clock, so that one map serves both. False for capture devices, and for
    /// RTP without sender reports (RFC 3550, 6.4.1): then each track has a map, and they start with the relation that
    /// the stamps have.
    package var sharesMap: Bool
    /// How long a track may be silent.
    package var patience: Duration
    /// How long a frame takes from its packet's arrival until it is decoded: frames that the decoder reorders and those
    /// its threads hold.
    package var decoding: Duration = .zero
    /// How long before its time a packet is handed to the decoder; nil for at once. A buffer of seconds, or what is
    /// read of a playlist, waits undecoded: a second of decoded 1080p at 50 fps is 155 MB.
    package var decodingLead: Duration?
    /// The time of which one earliest packet is kept.
    var bucket: Duration = .seconds(1)
    /// Earliest packets that are needed before the sender's rate is believed.
    var bucketsForRate = 30
    /// A step of the earliest packets that is another path, and not drift.
    var pathStep: Duration = .milliseconds(15)
    /// Whether a buffer that was never needed is given up, after 5 minutes.
    var shrinks = true

    /// Settings without defaults of a transport.
    package init(
        arrivals: Arrivals, latency: Duration, limit: Duration = .seconds(2), collecting: Duration = .milliseconds(500),
        sharesMap: Bool = true, patience: Duration = .seconds(1), decodingLead: Duration? = .milliseconds(500)
    ) {
        self.arrivals = arrivals
        self.latency = latency
        self.limit = limit
        self.collecting = collecting
        self.sharesMap = sharesMap
        self.patience = patience
        self.decodingLead = decodingLead
    }
}

extension SourceClockSettings {
    /// MPEG-TS over UDP or SRT. Measured: 199 to 239 ms of buffer for what ffmpeg's muxer does to audio, which it sends
    /// nine frames to a PES. Others fill a PES with 350 ms of it, so packets are collected for long enough to see one.
    package static let transportStream = SourceClockSettings(
        arrivals: .jitter, latency: .milliseconds(300), collecting: .milliseconds(800))

    /// A broadcast multiplex, whose audio may follow its video by a second (ISO/IEC 13818-1, 2.4.2.3: the buffers of
    /// the system target decoder).
    package static let broadcast = SourceClockSettings(
        arrivals: .jitter, latency: .milliseconds(1200), limit: .seconds(3), collecting: .milliseconds(1500))

    /// RTMP and HTTP-FLV, pulled or published to us. Measured: 58 ms.
    package static let rtmp = SourceClockSettings(arrivals: .jitter, latency: .milliseconds(200))

    /// RTSP and RTP. Measured: 152 ms.
    package static let rtp = SourceClockSettings(
        arrivals: .jitter, latency: .milliseconds(300), collecting: .seconds(1))

    /// How much later than its target duration a segment of a live playlist may come and nothing is missing.
    package static let playlistLateness = Duration.seconds(3)

    /// A live playlist whose segments last about `target` (RFC 8216, 4.3.3.1), opened three segments before its end.
    ///
    /// From one segment to the next it takes a target duration, half of one until the playlist is read again (6.3.4), and
    /// ``playlistLateness``, with half a second to spare. Three segments of 2 s and less hold too little for that.
    package static func playlist(target: Duration) -> SourceClockSettings {
        let longestWait = target + target / 2 + playlistLateness + .milliseconds(500)
        var settings = SourceClockSettings(
            arrivals: .bursts, latency: max(.zero, longestWait - target * 3), limit: target * 4, collecting: .zero,
            patience: max(target * 2 + .seconds(1), longestWait))
        settings.bucket = target * 2
        settings.pathStep = target / 4
        settings.shrinks = false
        settings.decodingLead = .seconds(1)
        return settings
    }

    /// A low-latency playlist of partial segments (RFC 8216bis, 4.4.3.8: PART-HOLD-BACK), by parts.
    package static func lowLatencyPlaylist(partHoldBack: Duration, target: Duration) -> SourceClockSettings {
        var settings = SourceClockSettings(
            arrivals: .bursts, latency: partHoldBack, limit: target * 2, collecting: .zero,
            patience: target * 2 + .seconds(1))
        settings.bucket = max(.seconds(1), partHoldBack)
        settings.pathStep = partHoldBack / 4
        settings.shrinks = false
        return settings
    }

    /// Capture devices. `stampsAreMonotonic` if the driver stamps with CLOCK_MONOTONIC, as V4L2 says by
    /// V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC and ALSA does when asked for SND_PCM_TSTAMP_TYPE_MONOTONIC.
    package static func device(stampsAreMonotonic: Bool) -> SourceClockSettings {
        var settings = SourceClockSettings(
            arrivals: stampsAreMonotonic ? .captureTime : .jitter, latency: .milliseconds(80),
            limit: .milliseconds(500), sharesMap: stampsAreMonotonic)
        settings.decodingLead = nil
        // No network is in between, and each track's own rate shows as an error of audio against video until it is
        // known.
        settings.bucketsForRate = 12
        return settings
    }

    /// A file, or anything else that waits to be read.
    package static let file = SourceClockSettings(arrivals: .none, latency: .zero, collecting: .zero, decodingLead: nil)
}
