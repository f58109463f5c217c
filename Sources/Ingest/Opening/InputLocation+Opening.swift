// SPDX-License-Identifier: Apache-2.0

internal import LibAV
internal import Media

extension InputLocation {
    /// Opens the input with libav. Blocks, without a time limit if the input listens for a sender; `monitor`'s
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
            throw IngestError.cannotBeOpened(input: description, reason: error.message)
        }
        return try demuxer(of: TransportStreamBytes(bytes), settings, monitor)
    }

    /// Whether libav reads the plain bytes of a connection to its end, without a protocol such as HTTP or RTSP around
    /// them.
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

    /// Whether the open input delivers media in real time, and is opened again when it ends.
    func isLive(_ demuxer: Demuxer) -> Bool { isLiveByNature ?? (demuxer.duration == nil) }

    /// The URL or device, the options and the deadlines for libav.
    func demuxerSettings(_ options: IngestOptions) -> (url: String, options: Demuxer.Options) {
        switch place {
        case .test: return ("", Demuxer.Options())
        case .file(let path): return ("file:" + path, Demuxer.Options())
        case .device(let format, let name):
            var values: [String: String] = [:]
            if format != "lavfi" {
                if let size = options.size { values["video_size"] = "\(size.width)x\(size.height)" }
                if let rate = options.frameRate { values["framerate"] = rate.description }
            }
            let limit: Duration? = format == "lavfi" ? nil : .seconds(10)
            var options = Demuxer.Options(format: format, values: values, openTimeout: limit, readTimeout: limit)
            // The drivers of these devices do not call the callback that could interrupt a blocking read, so they are
            // polled.
            options.isPolled = format == "v4l2" || format == "alsa"
            return (name, options)
        case .url(let scheme, let text):
            let values =
                switch scheme {
                case "rtsp": ["rtsp_flags": "prefer_tcp"]
                // The size is in packets of 188 bytes: 24 MB, some 10 s at 20 Mbit/s. If even this buffer overflows,
                // packets are lost as if on the network, and the input does not end (ffmpeg-protocols(1), udp). Options
                // in the address take precedence.
                case "udp": ["fifo_size": "131072", "overrun_nonfatal": "1"]
                // How long a playlist may have no new segment is limited by the read deadline. It must not be limited
                // by the number of reloads, whose default differs between libavformat's versions.
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
