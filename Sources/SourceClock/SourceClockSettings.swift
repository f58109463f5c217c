// SPDX-License-Identifier: Apache-2.0

internal import Media

/// How a ``SourceClock`` treats one input. The defaults for each transport were measured with libavformat on loopback:
/// with 20 s of the output of ffmpeg and nginx-rtmp, and with simulated days of jitter, drift and stalls.
package struct SourceClockSettings: Sendable, Hashable {
    /// What an arrival reveals about the sender's clock.
    package enum Arrivals: Sendable, Hashable {
        /// The earliest packets reveal the sender's clock, and the latest packets reveal the buffer that is needed.
        case jitter
        /// Packets arrive segment by segment. The mapping is created at the first packet, and the media of the burst at
        /// the start is the buffer.
        case bursts
        /// Timestamps are readings of our own monotonic clock when a frame or sample was captured: arrivals reveal only
        /// the buffer that is needed.
        case captureTime
        /// Nothing, because the source can wait. Its times are made continuous, and it gets no mapping.
        case none
    }

    /// What arrivals reveal.
    package var arrivals: Arrivals
    /// Minimum buffer after the earliest packets of the later track; not negative. The minimum after the first packets
    /// of bundles is two thirds of it.
    package var latency: Duration
    /// The largest buffer after the earliest packets that the clock chooses by itself; if the latency is larger, the
    /// limit is half a second more than the latency. Packets that arrive even later are late, and the last frame is
    /// repeated, until every packet was late for 3 s.
    package var limit: Duration
    /// How long delays are collected before the source is placed. Only the second half counts, which excludes the burst
    /// of libavformat's probing.
    package var collecting: Duration
    /// Whether the timestamps of both tracks come from one clock, so that one mapping serves both. False for capture
    /// devices, and for RTP without sender reports (RFC 3550, 6.4.1): then each track has its own mapping, and at the
    /// start they have the sync of the timestamps.
    package var sharesMap: Bool
    /// How long a track may be silent.
    package var patience: Duration
    /// Time from a packet's arrival until its frame is decoded, because of the frames that the decoder reorders and the
    /// frames that its threads hold.
    package var decoding: Duration = .zero
    /// How long before it is due a packet goes to the decoder; nil means at once. A buffer of seconds, or the rest of a
    /// playlist's segment, waits undecoded: a second of decoded 1080p at 50 fps takes 155 MB.
    package var decodingLead: Duration?
    /// The length of a bucket. Only the earliest packet of a bucket is kept.
    var bucket: Duration = .seconds(1)
    /// Number of buckets needed before the sender's rate counts as known.
    var bucketsForRate = 30
    /// If the earliest packets move by more than this, the path has changed; it is not drift.
    var pathStep: Duration = .milliseconds(15)
    /// Whether the buffer is reduced after 5 minutes if it is not needed.
    var shrinks = true

    /// Creates settings that do not have the defaults of a transport.
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
    /// PES packet. Other muxers put 350 ms into a PES packet, so delays are collected for long enough to see such a
    /// packet.
    package static let transportStream = SourceClockSettings(
        arrivals: .jitter, latency: .milliseconds(300), collecting: .milliseconds(800))

    /// A broadcast multiplex, in which the audio may be a second later than the video (ISO/IEC 13818-1, 2.4.2.3: the
    /// buffers of the system target decoder).
    package static let broadcast = SourceClockSettings(
        arrivals: .jitter, latency: .milliseconds(1200), limit: .seconds(3), collecting: .milliseconds(1500))

    /// RTMP and HTTP-FLV, received by connecting to a server or from a publisher that connects to us. Measured: 58 ms.
    package static let rtmp = SourceClockSettings(arrivals: .jitter, latency: .milliseconds(200))

    /// RTSP and RTP. Measured: 152 ms.
    package static let rtp = SourceClockSettings(
        arrivals: .jitter, latency: .milliseconds(300), collecting: .seconds(1))

    /// How much later than its target duration a live playlist's segment may arrive without causing a gap.
    package static let playlistLateness = Duration.seconds(3)

    /// A live playlist whose segments last about `target` (RFC 8216, 4.3.3.1). Playback begins three segments before
    /// its end.
    ///
    /// The time from one segment to the next is a target duration, plus half of one until the playlist is read again
    /// (6.3.4), plus ``playlistLateness``, plus half a second in reserve. Three segments of 2 s or less are too short
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

    /// Capture devices. `stampsAreMonotonic` means that the driver's timestamps are readings of CLOCK_MONOTONIC. V4L2
    /// shows this by V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC, and ALSA by SND_PCM_TSTAMP_TYPE_MONOTONIC, if it was requested.
    package static func device(stampsAreMonotonic: Bool) -> SourceClockSettings {
        var settings = SourceClockSettings(
            arrivals: stampsAreMonotonic ? .captureTime : .jitter, latency: .milliseconds(80),
            limit: .milliseconds(500), sharesMap: stampsAreMonotonic)
        settings.decodingLead = nil
        // There is no network in between. An unknown rate of a track shows as an error of the sync.
        settings.bucketsForRate = 12
        return settings
    }

    /// A file, or any other source that can wait.
    package static let file = SourceClockSettings(arrivals: .none, latency: .zero, collecting: .zero, decodingLead: nil)
}
