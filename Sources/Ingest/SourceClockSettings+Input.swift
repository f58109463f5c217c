// SPDX-License-Identifier: Apache-2.0

internal import LibAV
internal import Media
internal import SourceClock

extension SourceClockSettings {
    /// The assumed duration of a playlist's segments if the playlist states no target duration. Most servers make
    /// segments of 2 to 6 s (RFC 8216, appendix B, and Apple's authoring specification, 7.5: 6 s).
    static let usualTarget = Duration.seconds(6)

    /// The clock settings for an open live input, from its demuxer's name, the target duration of its playlist, and the
    /// `latency` that its address configures. `video` and `frameRate` determine the time for decoding.
    static func of(_ demuxer: Demuxer, video: StreamInfo?, frameRate: FrameRate, latency: Duration?) -> Self {
        var settings = of(formatName: demuxer.formatName, target: demuxer.targetDuration)
        if let latency { settings.latency = latency }
        if isDevice(formatName: demuxer.formatName), let stamp = demuxer.firstStamp, CaptureClock(stamp: stamp) != nil {
            (settings.arrivals, settings.sharesMap) = (.captureTime, true)
        }
        guard let video = video?.video else { return settings }
        // The deinterlacer retains one frame, in addition to the frames that the decoder retains in order to reorder
        // them.
        let held = Int64(video.reorderedFrames + (video.isInterlaced ? 1 : 0))
        settings.decoding = frameRate.timeBase.duration(held)
        return settings
    }

    /// Whether a demuxer of this name reads a list of segments.
    static func isPlaylist(formatName: String) -> Bool {
        formatName.split(separator: ",").contains { $0 == "hls" || $0 == "dash" }
    }

    /// Whether a demuxer of this name reads a capture device.
    static func isDevice(formatName: String) -> Bool {
        formatName.split(separator: ",").contains { devices.contains($0) }
    }

    private static let devices: Set<Substring> = [
        "v4l2", "video4linux2", "alsa", "pulse", "jack", "oss", "sndio", "x11grab", "kmsgrab", "fbdev",
    ]

    /// The default settings for an input of this libavformat demuxer, whose name can be a list separated by commas.
    static func of(formatName: String, target: Duration? = nil) -> Self {
        for name in formatName.split(separator: ",") {
            switch name {
            case "mpegts": return .transportStream
            case "flv", "live_flv", "kux": return .rtmp
            case "rtsp", "rtp", "sdp": return .rtp
            case "hls", "dash": return .playlist(target: target ?? usualTarget)
            case let name where devices.contains(name):
                return .device(stampsAreMonotonic: false)
            default: continue
            }
        }
        return .rtp
    }
}
