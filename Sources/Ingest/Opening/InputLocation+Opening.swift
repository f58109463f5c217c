// SPDX-License-Identifier: Apache-2.0

internal import LibAV
internal import Logging
internal import Media
internal import Networking
internal import SRT

extension InputLocation {
    /// Opens the input with libav. Blocks, without a time limit if the input listens for a sender. The interrupter of
    /// `monitor` can end this call, and later reads from the demuxer. If the input was open before and has the same
    /// tracks again, it is probed only briefly.
    func openDemuxer(_ options: IngestOptions, monitor: SourceMonitor) throws(IngestError) -> Demuxer {
        monitor.playlist.unwatch()
        let demuxer = try connectDemuxer(options, monitor: monitor)
        monitor.knownTracks = KnownTracks(of: demuxer)
        watchPlaylist(of: demuxer, monitor)
        return demuxer
    }

    /// Watches the playlist that `demuxer` reads, if it is a live HLS playlist.
    private func watchPlaylist(of demuxer: Demuxer, _ monitor: SourceMonitor) {
        let isHLS = demuxer.formatName.split(separator: ",").contains("hls")
        guard isHLS, demuxer.duration == nil, let target = demuxer.targetDuration else { return }
        let redirections = monitor.redirections
        monitor.playlist.watch(target: target, interrupter: monitor.interrupter) { wholePlaylist(redirections, $0) }
    }

    private func connectDemuxer(_ options: IngestOptions, monitor: SourceMonitor) throws(IngestError) -> Demuxer {
        if let bytes = monitor.takeContinuation() {
            var settings = demuxerSettings(options, monitor.redirections).options
            settings.known = monitor.knownTracks
            _ = monitor.playlist.takeChange()
            return try demuxer(of: bytes, settings, monitor)
        }
        monitor.redirections.forget()
        var (url, settings) = demuxerSettings(options, monitor.redirections)
        follow(&url, &settings, monitor)
        settings.known = monitor.knownTracks
        let change = monitor.playlist.takeChange()
        if !change.isEmpty {
            let start = startIndex(at: change, monitor.redirections, monitor.interrupter)
            settings.values["live_start_index"] = "\(start)"
        }
        if let address = srtAddress { return try openSRT(at: address, monitor) }
        let bytes: TransportStreamBytes
        do throws(AVFailure) {
            if comesAsBytes {
                bytes = TransportStreamBytes(
                    try AddressBytes(
                        url: url, options: settings, interrupter: monitor.interrupter, subject: description))
            } else {
                let demuxer = try Demuxer(
                    url: url, options: settings, interrupter: monitor.interrupter, subject: description)
                guard let whole = demuxer.wholeFileWithChange else { return demuxer }
                settings.duration = demuxer.duration
                bytes = whole
            }
        } catch {
            // libavformat reports only "invalid argument" when it refuses a format that is not in its option
            // `format_whitelist`.
            let isOther = options.isSelfContained && error.isInvalidArgument
            throw IngestError.cannotBeOpened(
                input: description, reason: isOther ? "it is no file that holds its media itself" : error.message)
        }
        return try comesAsBytes ? demuxer(of: bytes, settings, monitor) : firstPart(of: bytes, settings, monitor)
    }

    /// Follows the redirections of an HTTP address if the input has headers, and removes the headers if the media is on
    /// another server.
    private func follow(_ url: inout String, _ settings: inout Demuxer.Options, _ monitor: SourceMonitor) {
        guard settings.values["headers"] != nil,
            let found = redirected(url, monitor.redirections, monitor.interrupter)
        else { return }
        url = found.url
        if !found.keepsHeaders { settings.values["headers"] = nil }
    }

    /// The libavformat formats whose files contain their media themselves. All other formats are refused. Some of them,
    /// such as HLS, DASH, IMF, SDP and lists of files, name further files and addresses; the others are not useful as
    /// inputs.
    private static let selfContainedFormats = [
        "mov", "mp4", "matroska", "webm", "mpegts", "mpeg", "mxf", "avi", "flv", "live_flv", "kux", "asf", "wtv", "gxf",
        "lxf", "ogg", "nut", "dv", "ivf", "rm", "swf", "obu", "av1", "h264", "hevc", "vvc", "m4v", "mpegvideo", "dirac",
        "dnxhd", "vc1", "mjpeg", "yuv4mpegpipe", "gif", "apng", "png_pipe", "jpeg_pipe", "jpegxl_pipe", "webp_pipe",
        "bmp_pipe", "tiff_pipe", "image2", "wav", "w64", "aiff", "caf", "mp3", "aac", "ac3", "eac3", "flac", "loas",
    ]

    /// The protocols that can deliver a playlist. With plain HTTP, libavformat itself forbids that a playlist names
    /// files of this machine. It does not forbid this with FTP, or with a protocol that wraps HTTP, as in
    /// `cache:http://…`.
    private static let fetchingSchemes: Set<String> = ["http", "https", "ftp", "sftp"]

    /// The protocols that an input with one of the `fetchingSchemes` may use: those that libavformat allows for HTTP,
    /// and those that can wrap HTTP.
    private static let remoteProtocols =
        "http,https,tls,tcp,udp,rtp,crypto,httpproxy,data,ftp,sftp,cache,async,hls"

    /// Whether libav reads the plain bytes of a connection up to its end, without a protocol such as HTTP or RTSP.
    private var comesAsBytes: Bool {
        if case .url(let scheme, _) = place { scheme == "udp" || scheme == "tcp" } else { false }
    }

    /// Creates a demuxer of the bytes that arrive on an open connection, or of the rest of a file. Any host on the
    /// network may have sent the bytes. Formats that name files and addresses are therefore refused, because
    /// libavformat would open files of this machine.
    private func demuxer(
        of bytes: TransportStreamBytes, _ settings: Demuxer.Options, _ monitor: SourceMonitor
    ) throws(IngestError) -> Demuxer {
        var options = settings
        if !comesAsBytes { options.format = "mpegts" }
        options.values["format_whitelist"] = Self.selfContainedFormats.joined(separator: ",")
        do throws(AVFailure) {
            return try Demuxer(reading: bytes, options: options, interrupter: monitor.interrupter, subject: description)
        } catch {
            let isOther = error.isInvalidArgument
            throw IngestError.cannotBeOpened(
                input: description, reason: isOther ? "its format does not hold the media itself" : error.message)
        }
    }

    /// Creates a demuxer of a file whose coding changes. The file is read in parts, one for each coding; the demuxer
    /// reads the first part that has frames.
    private func firstPart(
        of bytes: TransportStreamBytes, _ settings: Demuxer.Options, _ monitor: SourceMonitor
    ) throws(IngestError) -> Demuxer {
        while true {
            let part = try demuxer(of: bytes, settings, monitor)
            let hasFrames = part.bestVideo?.video.map { $0.width > 0 } ?? (part.bestAudio != nil)
            // If the part was read to its end, and has no frame from which the size of the video is known, the next
            // part is tried.
            guard bytes.isChanged, !hasFrames else { return part }
            bytes.resume()
        }
    }

    /// Whether the open input delivers media in real time, and is opened again when it ends.
    func isLive(_ demuxer: Demuxer) -> Bool { isLiveByNature ?? (demuxer.duration == nil) }

    /// The URL or device, the options and the deadlines for libav. The servers' answers about redirections are stored
    /// in `redirections`.
    func demuxerSettings(
        _ options: IngestOptions, _ redirections: KnownRedirections = KnownRedirections()
    ) -> (url: String, options: Demuxer.Options) {
        switch place {
        case .test: return ("", Demuxer.Options())
        case .file(let path):
            var settings = Demuxer.Options()
            settings.endsAtCodingChange = true
            if options.isSelfContained {
                settings.values["format_whitelist"] = Self.selfContainedFormats.joined(separator: ",")
                settings.values["protocol_whitelist"] = "file"
                // A name such as `image%03d.png` means this one file, not a sequence of images.
                settings.values["pattern_type"] = "none"
            }
            return ("file:" + path, settings)
        case .device(let format, let name):
            var values: [String: String] = [:]
            if format != "lavfi" {
                if let size = options.size { values["video_size"] = "\(size.width)x\(size.height)" }
                if let rate = options.frameRate { values["framerate"] = rate.description }
            }
            values.merge(connection.values) { $1 }
            let limit: Duration? = format == "lavfi" ? nil : .seconds(10)
            var options = Demuxer.Options(format: format, values: values, openTimeout: limit, readTimeout: limit)
            // libavdevice's readers of V4L2 and ALSA devices do not call the callback that could interrupt a blocking
            // read, so these devices are read without blocking and polled.
            options.isPolled = format == "v4l2" || format == "alsa"
            return (name, options)
        case .url(let scheme, let text):
            var values: [String: String] =
                switch scheme {
                case "rtsp": connection.transport == nil ? ["rtsp_flags": "prefer_tcp"] : [:]
                case "udp": Self.udpValues(text)
                // The read deadline limits how long a playlist can be without a new segment. libavformat also ends the
                // wait after a number of reloads, whose default differs between its versions. The number is set so high
                // that the read deadline applies first.
                case "http", "https": ["max_reload": "1000"]
                case _ where Self.fetchingSchemes.contains(Self.innermostScheme(text)):
                    ["protocol_whitelist": [scheme, Self.remoteProtocols].joined(separator: ",")]
                default: [:] as [String: String]
                }
            values.merge(connection.values) { $1 }
            var options = Demuxer.Options(
                values: values, openTimeout: listens ? nil : .seconds(15), readTimeout: .seconds(10))
            options.targetDuration = { targetDuration($0, redirections, $1) }
            options.redirection = { redirected($0, redirections, $1) }
            options.endsAtInitialization = scheme == "http" || scheme == "https"
            options.endsAtCodingChange = true
            options.probesFLVBriefly = true
            options.mostPixels = LargestFrame.pixels
            options.arrivalClock = SystemClock()
            return (text, options)
        }
    }

    /// The options of a UDP input; options in the address take precedence (ffmpeg-protocols(1), udp).
    private static func udpValues(_ text: String) -> [String: String] {
        // The buffer's size is in packets of 188 bytes: 24 MB, some 10 s at 20 Mbit/s. If even this buffer overflows,
        // packets are lost as if on the network, and the input does not end.
        var values = ["fifo_size": "131072", "overrun_nonfatal": "1"]
        // libavformat listens on all interfaces, whatever host the address names. An address of the loopback interface
        // means that only senders on this machine are expected.
        let host = (try? URLParts(text))?.host ?? ""
        // libavformat resolves the name `localhost` itself. If the result is ::1, libavformat refuses to listen at
        // 127.0.0.1, so the option gets the name instead of an address.
        if host == "localhost" || IPAddress(host)?.isLoopback == true { values["localaddr"] = host }
        return values
    }
}

// MARK: SRT

extension InputLocation {
    /// Opens the next connection of an SRT input. If the media of a connected sender cannot be read, an input that
    /// listens refuses this sender and waits for the next.
    private func openSRT(at address: String, _ monitor: SourceMonitor) throws(IngestError) -> Demuxer {
        let name = description
        let fail = { (reason: String) in IngestError.cannotBeOpened(input: name, reason: reason) }
        let url: SRTURL
        do throws(AddressError) { url = try SRTURL(address, for: .input) } catch { throw fail(error.description) }
        let input = monitor.srtInput {
            SRTInput(url) { [logger = monitor.logger] in Self.log($0, of: name, logger) }
        }
        var options = Demuxer.Options(format: "mpegts", openTimeout: .seconds(15), readTimeout: .seconds(10))
        options.mostPixels = LargestFrame.pixels
        options.known = monitor.knownTracks
        while true {
            let connection: SRTConnection?
            do throws(OutputFailure) { connection = try input.connect() } catch { throw fail(error.reason) }
            guard let connection else { throw fail("it was stopped") }
            let reason: String
            do throws(AVFailure) {
                let bytes = TransportStreamBytes(SRTBytes(connection, of: input))
                let demuxer = try Demuxer(
                    reading: bytes, options: options, interrupter: monitor.interrupter, subject: name)
                if !demuxer.streams.isEmpty || !input.isListening { return demuxer }
                reason = "its stream has neither video nor audio"
            } catch {
                if !input.isListening || monitor.isStopped { throw fail(error.message) }
                reason = "its stream cannot be read: \(error.message)"
            }
            input.refuse(connection, because: reason)
        }
    }

    private static func log(_ event: SRTInput.Event, of name: String, _ logger: Logger) {
        switch event {
        case .waiting: logger.info("waiting for an SRT sender", metadata: ["input": "\(name)"])
        case .connected(let address, let isEncrypted):
            logger.notice(
                "connected by SRT, \(isEncrypted ? "encrypted" : "in clear")",
                metadata: ["input": "\(name)", "address": "\(address)"])
        case .refused(let address, let reason):
            logger.warning(
                "a caller was sent away",
                metadata: ["input": "\(name)", "address": "\(address)", "reason": "\(reason)"])
        case .ended(let reason):
            logger.notice("the SRT connection was closed", metadata: ["input": "\(name)", "reason": "\(reason)"])
        case .dropped(let packets):
            logger.warning(
                "\(packets) SRT packets did not come in time and are missing; more latency would wait for them",
                metadata: ["input": "\(name)"])
        case .port(let text): logger.notice("\(text)", metadata: ["input": "\(name)"])
        }
    }
}

/// The bytes that arrive on an SRT connection. The connection is closed when this object is released.
private final class SRTBytes: ByteStream {
    private let connection: SRTConnection
    private let input: SRTInput

    init(_ connection: SRTConnection, of input: SRTInput) { (self.connection, self.input) = (connection, input) }

    deinit { connection.close() }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int? { input.receive(from: connection, into: buffer) }
}
