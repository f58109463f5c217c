// SPDX-License-Identifier: Apache-2.0

internal import CFFmpeg
package import Media

/// Reads packets from a file, a URL or a device; the owner of an `AVFormatContext`. Used by one thread at a time, but
/// for its ``Interrupter``.
package final class Demuxer {
    /// How an input is opened.
    package struct Options: Sendable {
        /// The name of a demuxer or device (`v4l2`, `alsa`, `lavfi`, …); nil to find out by probing.
        package var format: String?
        /// libav's own options; those that the input does not know are ignored.
        package var values: [String: String]
        /// The longest that opening may take; nil means for ever.
        package var openTimeout: Duration?
        /// The longest that one read may take; nil means for ever.
        package var readTimeout: Duration?
        /// Whether reads return at once when there is nothing, because those of the input end by no deadline: capture
        /// devices'. ``Demuxer/readPacket()`` then throws what ``AVFailure/isWouldBlock`` is true of.
        package var isPolled = false
        /// Called once the name of the format is known: returns how long a segment of the playlist lasts at most, and nil
        /// for an input without segments. It may use the interrupter. Probing and each read then have
        /// ``Demuxer/readTimeout(_:target:)``.
        package var targetDuration: (@Sendable (_ formatName: String, Interrupter) -> Duration?)?

        /// Options of these values.
        package init(
            format: String? = nil, values: [String: String] = [:], openTimeout: Duration? = nil,
            readTimeout: Duration? = nil
        ) {
            self.format = format
            self.values = values
            self.openTimeout = openTimeout
            self.readTimeout = readTimeout
        }
    }

    let context: UnsafeMutablePointer<AVFormatContext>
    /// Where the bytes come from, if not from a URL.
    private let reader: ByteReader?
    private let interrupter: Interrupter
    private let subject: String
    /// How long one segment of the playlist lasts at most, as far as it is known; nil for an input without segments.
    package let targetDuration: Duration?
    private let readTimeout: Duration?
    /// Whether the deadline of the last read holds for the next one as well: it found nothing, or it gave what the demuxer of
    /// a playlist still held when its time was over.
    private var isWaiting = false
    /// Packets that were read before they were wanted, the next one last.
    private var ahead: [PacketBox] = []

    /// All video and audio streams, but for attached pictures.
    package let streams: [StreamInfo]
    /// How many streams there were when the input was opened, of whatever kind.
    let openedStreams: Int
    /// The programs of a multiplex, or the variants of a playlist; empty for most inputs.
    package let programs: [Program]
    /// The stream that libav considers best of each kind.
    package let bestVideo: StreamInfo?
    /// The audio that belongs to ``bestVideo``, or the best one.
    package let bestAudio: StreamInfo?

    /// Opens `url` and reads as much of it as is needed to know its streams. Blocks; `interrupter` ends it.
    /// `subject` is how errors name the input.
    package convenience init(
        url: String, options: Options, interrupter: Interrupter, subject: String
    ) throws(AVFailure) {
        try self.init(url, nil, options, interrupter, subject)
    }

    /// How long one read may take of an input whose segments last `target`, where `usual` is the limit for others. A
    /// client reloads a playlist after a target duration, and after half of one if it has no new segment (RFC 8216,
    /// 6.3.4), so that 1.5 of them pass between two segments that are on time. Three allow as much again for lateness.
    package static func readTimeout(_ usual: Duration?, target: Duration?) -> Duration? {
        guard let usual, let target else { return usual }
        return max(usual, target * 3)
    }

    /// Opens the container that comes as `bytes`. As ``init(url:options:interrupter:subject:)``; the format is best named,
    /// because libavformat has some that would open files.
    package convenience init(
        reading bytes: any ByteStream, options: Options, interrupter: Interrupter, subject: String
    ) throws(AVFailure) {
        let reader = try ByteReader(bytes, interrupter: interrupter, subject: subject)
        try self.init("", reader, options, interrupter, subject)
    }

    private init(
        _ url: String, _ reader: ByteReader?, _ options: Options, _ interrupter: Interrupter, _ subject: String
    ) throws(AVFailure) {
        _ = Library.prepared
        self.interrupter = interrupter
        self.subject = subject
        self.reader = reader
        interrupter.allow(options.openTimeout)
        context = try Self.open(url, reader, options, interrupter, subject)
        targetDuration = options.targetDuration?(Self.formatName(of: context), interrupter)
        readTimeout = Self.readTimeout(options.readTimeout, target: targetDuration)
        // Where the playlist has just begun, probing waits for its next segment.
        if let targetDuration { interrupter.allow(Self.readTimeout(options.openTimeout, target: targetDuration)) }
        do {
            try Self.check(avformat_find_stream_info(context, nil), "probe", subject, interrupter)
            streams = try Self.describe(context, subject)
            programs = Self.programs(of: context)
        } catch {
            var owned: UnsafeMutablePointer<AVFormatContext>? = context
            avformat_close_input(&owned)
            throw error
        }
        openedStreams = Int(context.pointee.nb_streams)
        let video = av_find_best_stream(context, AVMEDIA_TYPE_VIDEO, -1, -1, nil, 0)
        let audio = av_find_best_stream(context, AVMEDIA_TYPE_AUDIO, -1, max(video, -1), nil, 0)
        let found = streams
        bestVideo = found.first { $0.index == Int(video) } ?? found.first { $0.kind == .video }
        bestAudio = found.first { $0.index == Int(audio) }
    }

    deinit {
        var owned: UnsafeMutablePointer<AVFormatContext>? = context
        avformat_close_input(&owned)
    }

    /// How long the input lasts, if that is known.
    package var duration: Duration? {
        context.pointee.duration.asTimestamp.flatMap { $0 > 0 ? .microseconds($0) : nil }
    }

    /// The first stamp that was found when the input was opened; nil if it has no stamps.
    package var firstStamp: Duration? { context.pointee.start_time.asTimestamp.map { .microseconds($0) } }

    /// The first stamp of `stream`, in its ticks; nil if it is not known.
    package func firstStamp(of stream: StreamInfo) -> Int64? {
        guard stream.index < Int(context.pointee.nb_streams) else { return nil }
        return context.pointee.streams?[stream.index]?.pointee.start_time.asTimestamp
    }

    /// The container's metadata under `key`, such as `creation_time`; nil if that is missing.
    package func tag(_ key: String) -> String? { context.pointee.metadata.text(key) }

    /// The demuxer's name, such as `mpegts`, `flv` or `hls`; some have several, with commas between them.
    package var formatName: String { Self.formatName(of: context) }

    private static func formatName(of context: UnsafeMutablePointer<AVFormatContext>) -> String {
        context.pointee.iformat.map { String(cString: $0.pointee.name) } ?? ""
    }

    /// Whether timestamps may jump within the stream by design, as in MPEG-TS.
    package var mayJump: Bool { formatFlags & AVFMT_TS_DISCONT != 0 }

    private var formatFlags: Int32 { context.pointee.iformat?.pointee.flags ?? 0 }

    /// The number of the stream that has splice information (SCTE 35), and its clock; nil if no stream has any.
    package var spliceStream: (index: Int, timeBase: TimeBase)? {
        for index in 0..<Int(context.pointee.nb_streams) {
            guard let stream = context.pointee.streams?[index],
                stream.pointee.codecpar?.pointee.codec_id == AV_CODEC_ID_SCTE_35,
                let base = stream.pointee.time_base.asTimeBase
            else { continue }
            return (index, base)
        }
        return nil
    }

    /// Delivers only packets of the streams in `indices` from now on. ``TransportStreamBytes`` end where one of them is coded
    /// in another way; if it `followsAll`, because one that is wanted is not there, where any stream is.
    package func select(_ indices: Set<Int>, followsAll: Bool = false) {
        let chosen = indices.compactMap { context.pointee.streams?[$0]?.pointee.id }
        transportStream?.follow(followsAll ? nil : Set(chosen.map(Int.init)))
        ahead.removeAll { !indices.contains($0.streamIndex) }
        for index in 0..<Int(context.pointee.nb_streams) {
            context.pointee.streams?[index]?.pointee.discard =
                indices.contains(index) ? AVDISCARD_DEFAULT : AVDISCARD_ALL
        }
    }

    /// The bytes that it reads, if another demuxer can continue with them; nil for everything else.
    package var transportStream: TransportStreamBytes? { reader?.stream as? TransportStreamBytes }

    /// Delivers `packets`, which it gave out, once more before all others.
    package func putBack(_ packets: [PacketBox]) { ahead += packets.reversed() }

    /// The next packet, or nil at the end. Blocks; the interrupter ends it.
    package func readPacket() throws(AVFailure) -> PacketBox? {
        if let packet = ahead.popLast() { return packet }
        let box = try PacketBox(subject: subject)
        if !isWaiting { interrupter.allow(readTimeout) }
        let code = av_read_frame(context, box.packet)
        isWaiting =
            code == relay_averror(EAGAIN) && !interrupter.mustEnd
            || code >= 0 && targetDuration != nil && interrupter.hasTimedOut
        if code == relay_averror_eof, !interrupter.mustEnd { return nil }
        try Self.check(code, "read", subject, interrupter)
        return box
    }

    /// Goes to the last packet of `stream` at or before `pts`, in ticks of the stream, from which decoding can start.
    package func seek(_ stream: StreamInfo, to pts: Int64) throws(AVFailure) {
        ahead = []
        interrupter.allow(readTimeout)
        let code = avformat_seek_file(context, Int32(stream.index), .min, pts, pts, AVSEEK_FLAG_BACKWARD)
        try Self.check(code, "seek in", subject, interrupter)
    }

    /// Goes back to the first packet.
    package func seekToStart() throws(AVFailure) {
        ahead = []
        interrupter.allow(readTimeout)
        // MPEG-TS seeks to times by bisection and may miss the first keyframe; the first byte cannot be missed.
        if formatFlags & AVFMT_TS_DISCONT != 0, formatFlags & AVFMT_NO_BYTE_SEEK == 0,
            avformat_seek_file(context, -1, 0, 0, 0, AVSEEK_FLAG_BYTE) >= 0
        {
            return
        }
        let start = context.pointee.start_time.asTimestamp ?? 0
        let code = avformat_seek_file(context, -1, .min, start, start, AVSEEK_FLAG_BACKWARD)
        try Self.check(code, "rewind", subject, interrupter)
    }
}

extension Demuxer {
    private static func open(
        _ url: String, _ reader: ByteReader?, _ options: Options, _ interrupter: Interrupter, _ subject: String
    ) throws(AVFailure) -> UnsafeMutablePointer<AVFormatContext> {
        var format: UnsafePointer<AVInputFormat>?
        if let name = options.format {
            format = relay_find_input_format(name)
            if format == nil, Library.hasDevices { format = relay_find_input_format(name) }
            guard format != nil else {
                throw AVFailure(operation: "find the device \(name) for", subject: subject, code: relay_averror(ENODEV))
            }
        }
        var context = avformat_alloc_context()
        guard let allocated = context else {
            throw AVFailure(operation: "open", subject: subject, code: relay_averror(ENOMEM))
        }
        // The demuxer keeps the interrupter for as long as the context lives.
        allocated.pointee.interrupt_callback = interrupter.callback
        if let reader { allocated.pointee.pb = reader.context }
        if options.isPolled { allocated.pointee.flags |= AVFMT_FLAG_NONBLOCK }
        var dictionary: OpaquePointer?
        defer { av_dict_free(&dictionary) }
        for (key, value) in options.values { av_dict_set(&dictionary, key, value, 0) }
        // On failure libav frees the context itself.
        try check(relay_open_input(&context, url, format, &dictionary), "open", subject, interrupter)
        return try AVFailure.unwrap(context, "open", subject)
    }

    private static func describe(
        _ context: UnsafeMutablePointer<AVFormatContext>, _ subject: String
    ) throws(AVFailure) -> [StreamInfo] {
        var found: [StreamInfo] = []
        for index in 0..<Int(context.pointee.nb_streams) {
            guard let stream = context.pointee.streams?[index],
                stream.pointee.disposition & AV_DISPOSITION_ATTACHED_PIC == 0
            else { continue }
            if let info = try StreamInfo(stream, subject: subject) { found.append(info) }
        }
        return found
    }

    /// Throws if `code` is a failure; a deadline that passed is told apart from an interruption.
    private static func check(
        _ code: Int32, _ operation: String, _ subject: String, _ interrupter: Interrupter
    ) throws(AVFailure) {
        guard code < 0 else { return }
        if interrupter.isInterrupted {
            throw AVFailure(operation: operation, subject: subject, code: relay_averror_exit)
        }
        // libav keeps the error of a call that a deadline ended and returns it again from the next one.
        let timedOut = interrupter.hasTimedOut || code == relay_averror_exit
        throw AVFailure(operation: operation, subject: subject, code: timedOut ? relay_averror(ETIMEDOUT) : code)
    }
}
