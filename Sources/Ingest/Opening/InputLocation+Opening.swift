// SPDX-License-Identifier: Apache-2.0

internal import LibAV
internal import Media

extension InputLocation {
    /// Opens the place with libav. Blocks, without a time limit if the place listens for a caller; `monitor`'s
    /// interrupter ends blocking calls, now and later.
    func openDemuxer(_ options: IngestOptions, monitor: SourceMonitor) throws(IngestError) -> Demuxer {
        let (url, settings) = demuxerSettings(options)
        if let bytes = monitor.takeContinuation() { return try demuxer(of: bytes, settings, monitor) }
        if let address = srtAddress { return try openSRT(at: address, monitor) }
        let bytes: AddressBytes
        do throws(AVFailure) {
            guard comesAsBytes else {
                return try Demuxer(
                    url: url, options: settings, interrupter: monitor.interrupter, subject: description)
            }
            bytes = try AddressBytes(
                url: url, options: settings, interrupter: monitor.interrupter, subject: description)
        } catch {
            // libavformat has no other code for a format that is not on the list.
            let isOther = options.isSelfContained && error.isInvalidArgument
            throw IngestError.cannotBeOpened(
                input: description, reason: isOther ? "it is no file that holds its media itself" : error.message)
        }
        return try demuxer(of: TransportStreamBytes(bytes), settings, monitor)
    }

    /// The formats of libavformat whose files hold their media themselves. Other formats name further files and
    /// addresses, such as HLS, DASH, IMF, SDP and lists of files, or are of no use.
    private static let selfContainedFormats = [
        "mov", "mp4", "matroska", "webm", "mpegts", "mpeg", "mxf", "avi", "flv", "live_flv", "kux", "asf", "wtv", "gxf",
        "lxf", "ogg", "nut", "dv", "ivf", "rm", "swf", "obu", "av1", "h264", "hevc", "vvc", "m4v", "mpegvideo", "dirac",
        "dnxhd", "vc1", "mjpeg", "yuv4mpegpipe", "gif", "apng", "png_pipe", "jpeg_pipe", "jpegxl_pipe", "webp_pipe",
        "bmp_pipe", "tiff_pipe", "image2", "wav", "w64", "aiff", "caf", "mp3", "aac", "ac3", "eac3", "flac", "loas",
    ]

    /// Whether libav reads the plain bytes of a connection to its end, without a protocol of its own around them.
    private var comesAsBytes: Bool {
        if case .url(let scheme, _) = place { scheme == "udp" || scheme == "tcp" } else { false }
    }

    /// A demuxer of the bytes that arrive on an open connection.
    private func demuxer(
        of bytes: TransportStreamBytes, _ settings: Demuxer.Options, _ monitor: SourceMonitor
    ) throws(IngestError) -> Demuxer {
        var options = settings
        if srtAddress != nil { options.format = "mpegts" }
        do throws(AVFailure) {
            return try Demuxer(
                reading: bytes, options: options, interrupter: monitor.interrupter, subject: description)
        } catch {
            throw IngestError.cannotBeOpened(input: description, reason: error.message)
        }
    }

    /// Whether the open input delivers media at its own pace, and is opened again when it ends.
    func isLive(_ demuxer: Demuxer) -> Bool { isLiveByNature ?? (demuxer.duration == nil) }

    /// The URL or device, options and deadlines that libav is given.
    func demuxerSettings(_ options: IngestOptions) -> (url: String, options: Demuxer.Options) {
        switch place {
        case .test: return ("", Demuxer.Options())
        case .file(let path):
            var settings = Demuxer.Options()
            if options.isSelfContained {
                settings.values["format_whitelist"] = Self.selfContainedFormats.joined(separator: ",")
                settings.values["protocol_whitelist"] = "file"
                // An image's name is no pattern for the names of others.
                settings.values["pattern_type"] = "none"
            }
            return ("file:" + path, settings)
        case .device(let format, let name):
            var values: [String: String] = [:]
            if format != "lavfi" {
                if let size = options.size { values["video_size"] = "\(size.width)x\(size.height)" }
                if let rate = options.frameRate { values["framerate"] = rate.description }
            }
            let limit: Duration? = format == "lavfi" ? nil : .seconds(10)
            var options = Demuxer.Options(format: format, values: values, openTimeout: limit, readTimeout: limit)
            // The drivers of these devices do not call the callback that could end a blocking read, so they are polled.
            options.isPolled = format == "v4l2" || format == "alsa"
            return (name, options)
        case .url(let scheme, let text):
            let values =
                switch scheme {
                case "rtsp": ["rtsp_flags": "prefer_tcp"]
                // The size is in packets of 188 bytes: 24 MB, some 10 s at 20 Mbit/s. When even this buffer is full,
                // packets are lost as if on the network, instead of ending the input (ffmpeg-protocols(1), udp).
                // Options in the address take precedence.
                case "udp": ["fifo_size": "131072", "overrun_nonfatal": "1"]
                // The deadline of a read decides how long a playlist may have no new segment. The number of reloads
                // must not decide that: its default differs between libavformat's versions.
                case "http", "https": ["max_reload": "1000"]
                default: [:] as [String: String]
                }
            var options = Demuxer.Options(
                values: values, openTimeout: listens ? nil : .seconds(15), readTimeout: .seconds(10))
            options.targetDuration = targetDuration
            return (text, options)
        }
    }
}
