// SPDX-License-Identifier: Apache-2.0

internal import Media

/// How a ``SourceClock`` treats one input. The defaults of each transport were measured with libavformat on loopback:
/// 20 s of the output of ffmpeg and nginx-rtmp, and simulated days of jitter, drift and stalls.
package struct SourceClockSettings: Sendable, Hashable {
    /// What an arrival reveals about the sender's clock.
    package enum Arrivals: Sendable, Hashable {
        /// The earliest packets reveal the sender's clock, the latest ones the buffer that is needed.
        case jitter
        /// Packets arrive segment by segment: the first packet is placed at once, and the media of the start burst is
        /// the buffer.
        case bursts
        /// Timestamps are readings of our own monotonic clock at the capture of a frame or sample: arrivals reveal only
        /// the buffer that is needed.
        case captureTime
        /// Nothing: the source waits to be read. Times are made continuous, and nothing is placed.
        case none
    }

    /// What arrivals reveal.
    package var arrivals: Arrivals
    /// Minimum buffer above the earliest packets of the later track; 0 or more. Two thirds of it is the minimum above
    /// the first packets of bundles.
    package var latency: Duration
    /// Maximum buffer above the earliest packets that is granted automatically, or half a second above the latency if
    /// that is more. Later packets are late, and the last frame is held, until every packet was late for 3 s.
    package var limit: Duration
    /// How long delays are collected before the source is placed. Only the second half counts, which excludes the burst
    /// of libavformat's probing.
    package var collecting: Duration
    /// Whether one clock stamps both tracks, so that one mapping serves both. False for capture devices, and for RTP
    /// without sender reports (RFC 3550, 6.4.1): then each track has a mapping, and they start with the sync of the
    /// timestamps.
    package var sharesMap: Bool
    /// How long a track may be silent.
    package var patience: Duration
    /// Time from a packet's arrival until its frame is decoded: frames that the decoder reorders, and those that its
    /// threads hold.
    package var decoding: Duration = .zero
    /// How long before its time a packet goes to the decoder; nil for at once. A buffer of seconds, or the rest of a
    /// playlist's segment, waits undecoded: a second of decoded 1080p at 50 fps takes 155 MB.
    package var decodingLead: Duration?
    /// The length of a bucket, for which one earliest packet is kept.
    var bucket: Duration = .seconds(1)
    /// Number of buckets needed before the sender's rate counts as known.
    var bucketsForRate = 30
    /// A larger step of the earliest packets is a change of path, not drift.
    var pathStep: Duration = .milliseconds(15)
    /// Whether unneeded buffer is given up after 5 minutes.
    var shrinks = true

    /// Settings without a transport's defaults.
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
    /// MPEG-TS over UDP or SRT. Measured: 199 to 239 ms of buffer for ffmpeg's muxer, which sends nine audio frames per
    /// PES. Other muxers put 350 ms in a PES, so delays are collected for long enough to see one.
    package static let transportStream = SourceClockSettings(
        arrivals: .jitter, latency: .milliseconds(300), collecting: .milliseconds(800))

    /// A broadcast multiplex, whose audio may follow its video by a second (ISO/IEC 13818-1, 2.4.2.3: the buffers of
    /// the system target decoder).
    package static let broadcast = SourceClockSettings(
        arrivals: .jitter, latency: .milliseconds(1200), limit: .seconds(3), collecting: .milliseconds(1500))

    /// RTMP and HTTP-FLV, pulled by us or published to us. Measured: 58 ms.
    package static let rtmp = SourceClockSettings(arrivals: .jitter, latency: .milliseconds(200))

    /// RTSP and RTP. Measured: 152 ms.
    package static let rtp = SourceClockSettings(
        arrivals: .jitter, latency: .milliseconds(300), collecting: .seconds(1))

    /// How much later than its target duration a live playlist's segment may arrive without a gap.
    package static let playlistLateness = Duration.seconds(3)

    /// A live playlist whose segments last about `target` (RFC 8216, 4.3.3.1), opened three segments before its end.
    ///
    /// The time from one segment to the next is a target duration, plus half of one until the playlist is read again
    /// (6.3.4), plus ``playlistLateness``, plus half a second in reserve. Three segments of 2 s or less hold too little
    /// for that.
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

    /// Capture devices. `stampsAreMonotonic` if the driver's timestamps are of CLOCK_MONOTONIC, as V4L2 tells by
    /// V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC and ALSA by SND_PCM_TSTAMP_TYPE_MONOTONIC, if requested.
    package static func device(stampsAreMonotonic: Bool) -> SourceClockSettings {
        var settings = SourceClockSettings(
            arrivals: stampsAreMonotonic ? .captureTime : .jitter, latency: .milliseconds(80),
            limit: .milliseconds(500), sharesMap: stampsAreMonotonic)
        settings.decodingLead = nil
        // There is no network in between, and until a track's rate is known it shows as an error of sync.
        settings.bucketsForRate = 12
        return settings
    }

    /// A file, or any other source that waits to be read.
    package static let file = SourceClockSettings(arrivals: .none, latency: .zero, collecting: .zero, decodingLead: nil)
}
