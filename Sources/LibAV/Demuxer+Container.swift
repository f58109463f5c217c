// SPDX-License-Identifier: Apache-2.0

internal import CFFmpeg
internal import Media

// MARK: Opening

extension Demuxer {
    /// Opens `url`, or the bytes of `reader`, without probing it.
    static func open(
        _ url: String, _ reader: ByteReader?, _ resources: ResourceOpener?, _ options: Options,
        _ interrupter: Interrupter, _ subject: String
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
        // The demuxer retains the interrupter for as long as the context lives.
        allocated.pointee.interrupt_callback = interrupter.callback
        if let reader { allocated.pointee.pb = reader.context }
        resources?.install(in: allocated)
        if options.isPolled { allocated.pointee.flags |= AVFMT_FLAG_NONBLOCK }
        var dictionary: OpaquePointer?
        defer { av_dict_free(&dictionary) }
        for (key, value) in options.values { av_dict_set(&dictionary, key, value, 0) }
        // If opening fails, libav frees the context itself.
        try check(relay_open_input(&context, url, format, &dictionary), "open", subject, interrupter)
        return try AVFailure.unwrap(context, "open", subject)
    }

    /// Reads as much of the input as is needed to know its streams. Returns libav's status code.
    static func probe(_ context: UnsafeMutablePointer<AVFormatContext>, mostPixels: Int64?) -> Int32 {
        guard let mostPixels else { return avformat_find_stream_info(context, nil) }
        // libav expects an array with one dictionary for each stream that is known before probing.
        var options = [OpaquePointer?](repeating: nil, count: Int(context.pointee.nb_streams))
        for index in options.indices { av_dict_set(&options[index], "max_pixels", "\(mostPixels)", 0) }
        defer { for index in options.indices { av_dict_free(&options[index]) } }
        return options.isEmpty
            ? avformat_find_stream_info(context, nil) : avformat_find_stream_info(context, &options)
    }

    /// Describes the video and audio streams of `context`, except attached pictures. Their packets have times in
    /// `timeBase`; nil means the time bases of the container.
    static func describe(
        _ context: UnsafeMutablePointer<AVFormatContext>, _ timeBase: TimeBase?, _ subject: String
    ) throws(AVFailure) -> [StreamInfo] {
        var found: [StreamInfo] = []
        for index in 0..<Int(context.pointee.nb_streams) {
            guard let stream = context.pointee.streams?[index],
                stream.pointee.disposition & AV_DISPOSITION_ATTACHED_PIC == 0
            else { continue }
            if let info = try StreamInfo(stream, timeBase: timeBase, subject: subject) { found.append(info) }
        }
        return found
    }

    /// Throws if `code` is an error code. The error says whether a deadline has passed or the call was interrupted.
    static func check(
        _ code: Int32, _ operation: String, _ subject: String, _ interrupter: Interrupter
    ) throws(AVFailure) {
        guard code < 0 else { return }
        if interrupter.isInterrupted {
            throw AVFailure(operation: operation, subject: subject, code: relay_averror_exit)
        }
        // After a missed deadline, libav stores the error of that call, and the next call returns the stored error.
        let timedOut = interrupter.hasTimedOut || code == relay_averror_exit
        throw AVFailure(operation: operation, subject: subject, code: timedOut ? relay_averror(ETIMEDOUT) : code)
    }

    /// Limits how much of a live FLV stream is probed, in microseconds of media. Most streams send their tracks'
    /// headers at the beginning. A track that begins later is found by ``kindOfLateStream(_:beside:)``.
    private static let briefProbe: Int64 = 2_000_000

    /// Shortens the probing of a live FLV stream, which may announce a track that never begins: libavformat ends
    /// probing early only if FLV has two tracks. A file on an HTTP server is not live: it has a size, and the server
    /// lets clients seek in it. Some servers also let clients seek in a live stream; they do not state a size for it.
    static func shortenProbeOfFLV(_ context: UnsafeMutablePointer<AVFormatContext>) {
        let isFLV = formatName(of: context).split(separator: ",").contains { $0 == "flv" || $0 == "live_flv" }
        guard isFLV, let bytes = context.pointee.pb,
            bytes.pointee.seekable & AVIO_SEEKABLE_NORMAL == 0 || avio_size(bytes) < 0
        else { return }
        context.pointee.max_analyze_duration = briefProbe
    }
}

// MARK: What the container states

extension Demuxer {
    /// One packet in the container's index.
    package struct IndexEntry: Sendable, Equatable {
        /// Offset of the packet's first byte in the file.
        package var position: Int64
        /// Size in bytes.
        package var size: Int64
        /// Decoding time in ticks of the stream.
        package var dts: Int64
        /// Whether the container marks the packet as a point where decoding can start.
        package var isKeyframe: Bool
        /// Whether the packet's frame must be decoded but not shown.
        package var isHidden: Bool
    }

    /// The container's index of `stream` in decoding order. It is empty or incomplete if the container has no complete
    /// index.
    package func index(of stream: StreamInfo) -> [IndexEntry] {
        guard stream.index < Int(context.pointee.nb_streams), let found = context.pointee.streams?[stream.index] else {
            return []
        }
        let count = relay_index_count(found)
        var entries: [IndexEntry] = []
        entries.reserveCapacity(Int(count))
        var (position, time, size, flags): (Int64, Int64, Int32, Int32) = (0, 0, 0, 0)
        for number in 0..<count where relay_index_entry(found, number, &position, &time, &size, &flags) {
            entries.append(
                IndexEntry(
                    position: position, size: Int64(size), dts: time, isKeyframe: flags & AVINDEX_KEYFRAME != 0,
                    isHidden: flags & AVINDEX_DISCARD_FRAME != 0))
        }
        return entries
    }

    /// Whether an MP4 file ends before the end of the last packet in the index of `stream`; false for other formats.
    /// Asks for the file's present size.
    package func isCutOff(_ stream: StreamInfo) -> Bool {
        // Containers other than MP4 have an incomplete index, or none.
        guard formatName.contains("mp4"), let file = context.pointee.pb, stream.index < Int(context.pointee.nb_streams),
            let found = context.pointee.streams?[stream.index]
        else { return false }
        let (bytes, count) = (avio_size(file), relay_index_count(found))
        var (position, time, size, flags): (Int64, Int64, Int32, Int32) = (0, 0, 0, 0)
        guard bytes > 0, count > 0, relay_index_entry(found, count - 1, &position, &time, &size, &flags) else {
            return false
        }
        return position > bytes - Int64(size)
    }

    /// The time at which `packet` ends, whatever its stream is; nil if its times are unknown.
    package func end(of packet: PacketBox) -> Duration? {
        guard packet.streamIndex < Int(context.pointee.nb_streams), let pts = packet.pts ?? packet.dts,
            let base = context.pointee.streams?[packet.streamIndex]?.pointee.time_base.asTimeBase
        else { return nil }
        return base.duration(pts &+ packet.duration)
    }

    /// The number of tracks of each kind; attached images do not count.
    package var trackCounts: (video: Int, audio: Int, subtitles: Int) {
        var counts = (video: 0, audio: 0, subtitles: 0)
        for index in 0..<Int(context.pointee.nb_streams) {
            guard let stream = context.pointee.streams?[index] else { continue }
            switch stream.pointee.codecpar?.pointee.codec_type {
            case AVMEDIA_TYPE_VIDEO where stream.pointee.disposition & AV_DISPOSITION_ATTACHED_PIC == 0:
                counts.video += 1
            case AVMEDIA_TYPE_AUDIO: counts.audio += 1
            case AVMEDIA_TYPE_SUBTITLE: counts.subtitles += 1
            default: break
            }
        }
        return counts
    }
}
