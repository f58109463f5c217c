// SPDX-License-Identifier: Apache-2.0

internal import LibAV
internal import Media

extension InputLocation {
    /// Opens what libav reads of the place. Blocks, without limit where it waits to be called; `monitor`'s interrupter ends
    /// it, then and later.
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

    /// Whether libav reads a connection to its end, with nothing around what comes.
    private var comesAsBytes: Bool {
        if case .url(let scheme, _) = place { scheme == "udp" || scheme == "tcp" } else { false }
    }

    /// A demuxer of what comes on a connection that is open.
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

    /// Whether media comes at its own pace, and the input is opened again when it ends, now that it is open.
    func isLive(_ demuxer: Demuxer) -> Bool { isLiveByNature ?? (demuxer.duration == nil) }

    /// What libav is told: the URL, the device, its options and deadlines.
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
            // Their drivers do not ask a callback whether to continue to wait.
            options.isPolled = format == "v4l2" || format == "alsa"
            return (name, options)
        case .url(let scheme, let text):
            let values =
                switch scheme {
                case "rtsp": ["rtsp_flags": "prefer_tcp"]
                // In packets of 188 bytes: 24 MB, some 10 s at 20 Mbit/s. When even that is full, what comes is lost, as
                // on the way, instead of ending the input (ffmpeg-protocols(1), udp). The address may say otherwise.
                case "udp": ["fifo_size": "131072", "overrun_nonfatal": "1"]
                // How long a playlist may have no new segment is decided by the deadline of a read, not by a number of
                // reloads, whose default differs between libavformat's versions.
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
