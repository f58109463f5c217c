// SPDX-License-Identifier: Apache-2.0

internal import LibAV
internal import Media

extension InputLocation {
    /// Opens what libav reads of the place. Blocks, without limit where it waits to be called; `monitor`'s interrupter ends
    /// it, then and later.
    func openDemuxer(_ options: IngestOptions, monitor: SourceMonitor) throws(IngestError) -> Demuxer {
        if let address = srtAddress { return try openSRT(at: address, monitor) }
        let (url, settings) = demuxerSettings(options)
        do throws(AVFailure) {
            return try Demuxer(
                url: url, options: settings, interrupter: monitor.interrupter, subject: description)
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
            // Their drivers ask nobody whether to go on waiting.
            options.isPolled = format == "v4l2" || format == "alsa"
            return (name, options)
        case .url(let scheme, let text):
            let values =
                switch scheme {
                case "rtsp": ["rtsp_flags": "prefer_tcp"]
                // In packets of 188 bytes: 24 MB, some 10 s at 20 Mbit/s. When even that is full, what comes is lost, as
                // on the way, instead of ending the input (ffmpeg-protocols(1), udp). The address may say otherwise.
                case "udp": ["fifo_size": "131072", "overrun_nonfatal": "1"]
                default: [:] as [String: String]
                }
            return (
                text,
                Demuxer.Options(values: values, openTimeout: listens ? nil : .seconds(15), readTimeout: .seconds(10))
            )
        }
    }
}
