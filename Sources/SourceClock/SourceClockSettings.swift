// SPDX-License-Identifier: Apache-2.0

internal import Media

/// How a ``SourceClock`` treats one input. The defaults for each transport come from two kinds of trials: libavformat
/// received 20 s of media from ffmpeg and nginx-rtmp on loopback, and days of jitter, drift and stalls were simulated.
package struct SourceClockSettings: Sendable, Hashable {
    /// What the arrival of a packet reveals about the sender's clock.
    package enum Arrivals: Sendable, Hashable {
        /// Packets arrive with jitter. Those with the smallest delays reveal the sender's clock, and those with the
        /// largest delays reveal how much buffer is needed.
        case jitter
        /// Packets arrive in bursts, one burst for each segment. The mapping to our clock is created as soon as each
        /// expected track has delivered a packet, and the media of the first burst fills the buffer.
        case bursts
        /// Each timestamp is the reading of our own monotonic clock when the frame or sample was captured. Arrivals
        /// reveal only how much buffer is needed.
        case captureTime
        /// Arrivals reveal nothing, because the source can wait, like a file. The clock makes its timestamps
        /// continuous, but creates no mapping.
        case none
    }

    /// What the arrivals of packets reveal.
    package var arrivals: Arrivals
    /// The minimum buffer; not negative. It is the time from the arrival of a packet with the smallest delay, on the
    /// track that arrives later, until this packet is due. For the first packets of bundles that arrive together, two
    /// thirds of this time are enough. With ``Arrivals/captureTime``, the time is counted from the capture.
    package var latency: Duration
    /// The largest buffer that the clock chooses by itself, or half a second more than ``latency`` if that is larger.
    /// Packets that would need a longer buffer are late, and the program repeats the last frame. Only when every packet
    /// has been late for 3 s does the clock use a longer buffer.
    package var limit: Duration
    /// How long the clock collects delays before it creates the mapping. It uses only the delays of the second half,
    /// because libavformat's probing delays the first packets and then delivers them in a burst.
    package var collecting: Duration
    /// Whether the timestamps of both tracks come from one clock, so that one mapping serves both. False for capture
    /// devices whose timestamps are not from our clock, and for RTP without sender reports (RFC 3550, 6.4.1). Then each
    /// track has its own mapping. At the start, audio and video have the sync of their timestamps; later, each track
    /// follows its own clock.
    package var sharesMap: Bool
    /// How long a track may have no packets before the clock reports it as silent.
    package var patience: Duration
    /// The time from a packet's arrival until its frame is decoded. The decoder needs this time because it reorders
    /// frames and its threads hold several frames.
    package var decoding: Duration = .zero
    /// A packet goes to the decoder this long before it is due; nil means as soon as it arrives. So a buffer of
    /// seconds, or the rest of a playlist's segment, waits undecoded: one second of decoded 1080p at 50 fps takes 155
    /// MB.
    package var decodingLead: Duration?
    /// The length of a bucket of ``ArrivalFloor``, which keeps the minimum and the mean delay of each bucket.
    var bucket: Duration = .seconds(1)
    /// The number of buckets that are needed to measure the sender's rate.
    var bucketsForRate = 30
    /// If the smallest delay changes by a step of more than this, the network path has changed. A smaller change counts
    /// as drift of the sender's clock.
    var pathStep: Duration = .milliseconds(15)
    /// How much media the input may at most deliver again after it was opened again, such as the last segments of a
    /// playlist.
    package var repeats = Duration.zero
    /// Whether the clock shortens the buffer by the part that was not needed for 5 minutes, and in one step if a part
    /// that is longer than ``SourceClock/mostBuffer`` was not needed for half a minute.
    var shrinks = true

    /// Creates settings with explicit values instead of a transport's defaults.
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
    /// MPEG-TS over UDP or SRT. In trials, ffmpeg's muxer, which sends nine audio frames per PES packet, needed a
    /// buffer of 199 to 239 ms. Other muxers put 350 ms of audio into a PES packet, so `collecting` is long enough to
    /// see such a packet.
    package static let transportStream = SourceClockSettings(
        arrivals: .jitter, latency: .milliseconds(300), collecting: .milliseconds(800))

    /// A broadcast multiplex, in which audio may arrive up to a second later than video (ISO/IEC 13818-1, 2.4.2.3: the
    /// buffers of the system target decoder).
    package static let broadcast = SourceClockSettings(
        arrivals: .jitter, latency: .milliseconds(1200), limit: .seconds(3), collecting: .milliseconds(1500))

    /// RTMP and HTTP-FLV, whether relay connects to a server or a publisher connects to relay. In trials a buffer of 58
    /// ms was needed.
    package static let rtmp = SourceClockSettings(arrivals: .jitter, latency: .milliseconds(200))

    /// RTSP and RTP. In trials a buffer of 152 ms was needed.
    package static let rtp = SourceClockSettings(
        arrivals: .jitter, latency: .milliseconds(300), collecting: .seconds(1))

    /// A segment of a live playlist may arrive this much later than the target duration demands without causing a gap.
    package static let playlistLateness = Duration.seconds(3)

    /// A live playlist whose segments last about `target` (RFC 8216, 4.3.3.1). Playback begins three segments before
    /// the playlist's end.
    ///
    /// The longest wait for the next segment is the sum of a target duration, half a target duration until the playlist
    /// is read again (RFC 8216, 6.3.4), ``playlistLateness``, and half a second in reserve. Three segments of less than
    /// about 2.3 s are shorter than that wait, so they need additional latency.
    package static func playlist(target: Duration) -> SourceClockSettings {
        let longestWait = target + target / 2 + playlistLateness + .milliseconds(500)
        var settings = SourceClockSettings(
            arrivals: .bursts, latency: max(.zero, longestWait - target * 3), limit: target * 4, collecting: .zero,
            patience: max(target * 2 + .seconds(1), longestWait))
        settings.bucket = target * 2
        settings.pathStep = target / 4
        settings.repeats = target * 4
        settings.shrinks = false
        settings.decodingLead = .seconds(1)
        return settings
    }

    /// Capture devices. `stampsAreMonotonic` means that the driver's timestamps are readings of CLOCK_MONOTONIC. V4L2
    /// shows this by the flag V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC. ALSA does so if SND_PCM_TSTAMP_TYPE_MONOTONIC was
    /// requested.
    package static func device(stampsAreMonotonic: Bool) -> SourceClockSettings {
        var settings = SourceClockSettings(
            arrivals: stampsAreMonotonic ? .captureTime : .jitter, latency: .milliseconds(80),
            limit: .milliseconds(500), sharesMap: stampsAreMonotonic)
        settings.decodingLead = nil
        // There is no network between the device and us, so few buckets suffice. As long as the rate of a track is
        // unknown, audio and video drift apart.
        settings.bucketsForRate = 12
        return settings
    }

    /// A file, or another source that can wait until its media is needed.
    package static let file = SourceClockSettings(arrivals: .none, latency: .zero, collecting: .zero, decodingLead: nil)
}
