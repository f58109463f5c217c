// SPDX-License-Identifier: Apache-2.0

internal import CFFmpeg
package import Media

/// Reads packets from a file, a URL or a device; owns an `AVFormatContext`. Only one thread may use it at a time,
/// except for its ``Interrupter``.
///
/// ```swift
/// let demuxer = try Demuxer(
///     url: "clip.mp4", options: Demuxer.Options(), interrupter: Interrupter(), subject: "clip.mp4")
/// while let packet = try demuxer.readPacket() {
///     if packet.streamIndex == demuxer.bestVideo?.index { show(packet.pts, packet.isKeyframe) }
/// }
/// ```
package final class Demuxer {
    /// Options for opening an input.
    package struct Options: Sendable {
        /// The name of a demuxer or device (`v4l2`, `alsa`, `lavfi`, …); nil to probe the format.
        package var format: String?
        /// Options with libav's names. An input ignores options that it does not know.
        package var values: [String: String]
        /// Time limit for opening the input; nil means no limit.
        package var openTimeout: Duration?
        /// Time limit for one read; nil means no limit.
        package var readTimeout: Duration?
        /// Whether reads return at once if there is no data. This is for inputs that ignore deadlines, such as capture
        /// devices. ``Demuxer/readPacket()`` then throws an error whose ``AVFailure/isWouldBlock`` is true.
        package var isPolled = false
        /// The maximum number of pixels in a stream's frames, see ``LargestFrame``; nil means libav's own limit. If an
        /// input has larger frames, it cannot be opened.
        package var mostPixels: Int64?
        /// The tracks that the input had when it was opened the last time; nil if it was not opened before. If it has
        /// the same tracks again, probing is brief.
        package var known: KnownTracks?
        /// The clock for packets of a live format without timestamps, such as Motion JPEG by HTTP. Such packets get the
        /// times at which they were read; without a clock, they keep the times that libavformat invents. An input with
        /// a known duration is not live, and its packets keep their times.
        package var arrivalClock: (any MonotonicClock)?
        /// Returns the maximum duration of a playlist's segments, or nil for an input without segments. The demuxer
        /// calls this closure when it knows the format's name, and passes its interrupter, which the closure may use.
        /// The duration determines the time limit of probing and of each read: see ``Demuxer/readTimeout(_:target:)``.
        package var targetDuration: (@Sendable (_ formatName: String, Interrupter) -> Duration?)?
        /// Whether a live HLS playlist ends before the first segment whose initialization section describes another
        /// coding. ``Demuxer/nextInitializations`` has the address of this section.
        package var endsAtInitialization = false
        /// Whether a transport stream ends where its program map changes the coding of a selected stream or, in a file,
        /// its PID. ``Demuxer/transportStream`` then supplies the rest. This applies to files, and to live streams of
        /// which a server sends the bytes, as by HTTP.
        package var endsAtCodingChange = false
        /// Follows the redirections of `url`, the address of a part of the input such as a segment of a playlist.
        /// Returns the address to open instead, and whether the option `headers` may be sent there; nil if no headers
        /// belong to the input. The demuxer calls this closure only for URLs on the server of the input's address, and
        /// passes its interrupter. Without the closure, libavformat sends the headers to each server to which it is
        /// redirected.
        package var redirection: (@Sendable (_ url: String, Interrupter) -> (url: String, keepsHeaders: Bool)?)?
        /// The duration of the input, if libavformat cannot find it out.
        package var duration: Duration?
        /// Whether a live FLV stream is probed only briefly. libavformat would wait up to 5 s for a track that does not
        /// exist.
        package var probesFLVBriefly = false

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
    /// Passes the bytes to libavformat, if libavformat does not read them itself.
    private var reader: ByteReader?
    /// Opens the resources of a playlist; nil for inputs for which libavformat's own function is enough.
    let resources: ResourceOpener?
    private let interrupter: Interrupter
    private let subject: String
    /// The maximum duration of a playlist's segments, if it is known; nil for an input without segments.
    package let targetDuration: Duration?
    private let readTimeout: Duration?
    private let statedDuration: Duration?
    /// Whether the deadline of the last read also applies to the next read: see ``keepsDeadline(after:_:)``.
    private var isWaiting = false
    /// Stamps the packets of a live format without timestamps; nil if packets keep their times.
    private var arrivals: ArrivalStamps?
    /// Packets that ``readPacket()`` returns before it reads again. The next one is the last in the array.
    private var ahead: [PacketBox] = []
    /// The latest end time of the packets that were read before the coding of a playlist changes; nil for other inputs.
    private var endOfCoding: Duration?
    /// Finds where the coding of a transport stream in a file changes; nil for other inputs.
    var maps: FileMapWatch?
    /// The streams that continue selected ones under other PIDs.
    var continuations = StreamContinuations()

    /// All video and audio streams, except attached pictures.
    package let streams: [StreamInfo]
    /// The number of streams of any kind that the input had when it was opened.
    let openedStreams: Int
    /// The programs of a transport stream, or the variants of a playlist; empty for most inputs.
    package let programs: [Program]
    /// The video stream that libav rates best.
    package let bestVideo: StreamInfo?
    /// The audio stream that belongs to ``bestVideo``; without such a stream, the one that libav rates best.
    package let bestAudio: StreamInfo?

    /// Opens `url`, and reads as much of it as is needed to know its streams. Blocks; `interrupter` can end the call.
    /// `subject` is the input's name in error messages.
    package convenience init(
        url: String, options: Options, interrupter: Interrupter, subject: String
    ) throws(AVFailure) {
        try self.init(url, nil, options, interrupter, subject)
        if options.endsAtCodingChange { try watchLiveMaps() }
    }

    /// Returns the time limit of one read for an input whose segments last `target`; `usual` is the limit for other
    /// inputs. A client reloads a playlist after one target duration, and after half of one if the playlist has no new
    /// segment (RFC 8216, 6.3.4). So 1.5 target durations pass between two punctual segments. The limit is 3 target
    /// durations, so that a segment may be late by 1.5.
    package static func readTimeout(_ usual: Duration?, target: Duration?) -> Duration? {
        guard let usual, let target else { return usual }
        return max(usual, target * 3)
    }

    /// Opens the container in `bytes`, like ``init(url:options:interrupter:subject:)``. `options` should name the
    /// format. If libavformat has to find out the format, it may choose one that opens other files.
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
        statedDuration = options.duration
        resources = ResourceOpener(url, options, interrupter)
        interrupter.allow(options.openTimeout)
        context = try Self.open(url, reader, resources, options, interrupter, subject)
        targetDuration = options.targetDuration?(Self.formatName(of: context), interrupter)
        readTimeout = Self.readTimeout(options.readTimeout, target: targetDuration)
        // If the playlist has only just begun, probing waits for its next segment.
        if let targetDuration { interrupter.allow(Self.readTimeout(options.openTimeout, target: targetDuration)) }
        var known = options.known
        if let before = known, !before.areTracks(of: context) { known = nil }
        do {
            known?.shortenProbe(of: context)
            if options.probesFLVBriefly { Self.shortenProbeOfFLV(context) }
            let probed = Self.probe(context, mostPixels: options.mostPixels)
            try Self.check(probed, "probe", subject, interrupter)
            try known?.complete(context, subject: subject)
            let isLive = context.pointee.duration.asTimestamp == nil
            arrivals = ArrivalStamps(
                of: Self.formatName(of: context), clock: isLive ? options.arrivalClock : nil)
            streams = try Self.describe(context, arrivals == nil ? nil : ArrivalStamps.timeBase, subject)
            if let limit = options.mostPixels {
                for video in streams.compactMap(\.video) {
                    try AVFailure.check(
                        width: video.width, height: video.height, limit: limit, "decode", subject)
                }
            }
            programs = Self.programs(of: context)
        } catch {
            var owned: UnsafeMutablePointer<AVFormatContext>? = context
            avformat_close_input(&owned)
            throw error
        }
        openedStreams = Int(context.pointee.nb_streams)
        resources?.initializations?.forgetRefusals()
        if options.endsAtCodingChange, url.hasPrefix("file:"), Self.formatName(of: context) == "mpegts" {
            maps = FileMapWatch(String(url.dropFirst("file:".count)), context)
        }
        let found = streams
        if let known {
            bestVideo = found.first { $0.index == known.video }
            bestAudio = found.first { $0.index == known.audio }
            return
        }
        let video = av_find_best_stream(context, AVMEDIA_TYPE_VIDEO, -1, -1, nil, 0)
        let audio = av_find_best_stream(context, AVMEDIA_TYPE_AUDIO, -1, max(video, -1), nil, 0)
        bestVideo = found.first { $0.index == Int(video) } ?? found.first { $0.kind == .video }
        bestAudio = found.first { $0.index == Int(audio) }
    }

    deinit {
        var owned: UnsafeMutablePointer<AVFormatContext>? = context
        avformat_close_input(&owned)
    }

    /// Duration of the input, if it is known.
    package var duration: Duration? {
        context.pointee.duration.asTimestamp.flatMap { $0 > 0 ? .microseconds($0) : nil } ?? statedDuration
    }

    /// The first timestamp that was found when the input was opened; nil if the input has no timestamps.
    package var firstStamp: Timestamp? {
        context.pointee.start_time.asTimestamp.map { Timestamp($0, in: TimeBase(1, 1_000_000)) }
    }

    /// The first timestamp of `stream`, in its ticks; nil if it is not known.
    package func firstStamp(of stream: StreamInfo) -> Int64? {
        guard stream.index < Int(context.pointee.nb_streams) else { return nil }
        return context.pointee.streams?[stream.index]?.pointee.start_time.asTimestamp
    }

    /// The container's metadata under `key`, such as `creation_time`; nil if it is missing.
    package func tag(_ key: String) -> String? { context.pointee.metadata.text(key) }

    /// The demuxer's name, such as `mpegts`, `flv` or `hls`; some have several names, separated by commas.
    package var formatName: String { Self.formatName(of: context) }

    static func formatName(of context: UnsafeMutablePointer<AVFormatContext>) -> String {
        context.pointee.iformat.map { String(cString: $0.pointee.name) } ?? ""
    }

    /// Whether timestamps may jump in this format, as in MPEG-TS.
    package var mayJump: Bool { formatFlags & AVFMT_TS_DISCONT != 0 }

    private var formatFlags: Int32 { context.pointee.iformat?.pointee.flags ?? 0 }

    /// Index and time base of the stream with splice information (SCTE 35); nil if there is no such stream.
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

    /// From now on, the demuxer delivers only packets of the streams in `indices`, of streams that appear later, and of
    /// streams that exist only in later parts of a file. If a stream that appears later continues one of `indices`
    /// under another PID of a transport stream, its packets are delivered with the index of the stream that it
    /// continues. If the demuxer reads from ``TransportStreamBytes``, the bytes end when the coding of one of these
    /// streams changes. With `followsAll`, they end when the coding of any stream changes; this is for the time while a
    /// wanted stream is missing.
    package func select(_ indices: Set<Int>, followsAll: Bool = false) {
        let chosen = indices.compactMap { context.pointee.streams?[$0]?.pointee.id }
        transportStream?.follow(followsAll ? nil : Set(chosen.map(Int.init)))
        continuations.selected = indices
        resources?.initializations?.forgetRefusals()
        ahead.removeAll { !indices.contains($0.streamIndex) }
        for index in 0..<Int(context.pointee.nb_streams) {
            guard let stream = context.pointee.streams?[index] else { continue }
            let isWanted = indices.contains(index) || maps?.isLater(Int(stream.pointee.id)) == true
            stream.pointee.discard = isWanted ? AVDISCARD_DEFAULT : AVDISCARD_ALL
        }
    }

    /// The object that supplies the bytes of the input, if another demuxer can continue to read from it; otherwise nil.
    package var transportStream: TransportStreamBytes? { reader?.stream as? TransportStreamBytes ?? maps?.rest }

    /// Puts back `packets`, which ``readPacket()`` has returned before: ``readPacket()`` returns them again, before all
    /// other packets.
    package func putBack(_ packets: [PacketBox]) { ahead += packets.reversed() }

    /// Returns the next packet, or nil at the end. Blocks; the interrupter can end the call.
    package func readPacket() throws(AVFailure) -> PacketBox? {
        if let packet = ahead.popLast() { return packet }
        let box = try PacketBox(subject: subject)
        if !isWaiting { interrupter.allow(nextInitializations.isEmpty ? readTimeout : targetDuration ?? readTimeout) }
        let place = maps == nil ? 0 : position
        let code = av_read_frame(context, box.packet)
        isWaiting = Self.keepsDeadline(after: code, interrupter)
        if code == relay_averror_eof, !interrupter.mustEnd { return nil }
        // After one media playlist has ended at a change of its coding, the others may get no further segment in time.
        // The input then ends without a failure.
        if code < 0, !nextInitializations.isEmpty, !interrupter.isInterrupted { return nil }
        try Self.check(code, "read", subject, interrupter)
        if isBehindChange(box) { return nil }
        if maps != nil, maps?.rest == nil { lookForChange(from: place) }
        // A packet of a new stream is delivered as a packet of the stream that it continues, unless the coding of a
        // file has changed: then the next demuxer reads the new streams.
        if maps?.rest == nil, box.streamIndex >= openedStreams, let continued = streamContinued(by: box.streamIndex) {
            box.move(to: continued)
        }
        arrivals?.stamp(box)
        return box
    }

    /// Whether `packet` is after the point at which the coding changes and the input therefore ends. All media
    /// playlists of the input change at the same media time, but the last packets of one media playlist can be read
    /// after the others have ended. A media playlist whose coding does not change could continue without end.
    private func isBehindChange(_ packet: PacketBox) -> Bool {
        guard resources?.initializations != nil else { return false }
        guard !nextInitializations.isEmpty else {
            if let end = end(of: packet) { endOfCoding = max(endOfCoding ?? end, end) }
            return false
        }
        guard hasSeveralPlaylists, let endOfCoding, let end = end(of: packet) else { return false }
        return end > endOfCoding + Self.slack
    }

    /// By how much the packets of one media playlist may end later than those of another: the duration of an audio
    /// frame.
    private static let slack = Duration.milliseconds(30)

    /// Whether the deadline of a read that returned `code` also applies to the next read. This is so if the read found
    /// no data, or if it returned a packet although the deadline had passed: when a read fails, libavformat returns the
    /// packets that its parsers and playlists hold, and with some protocols, such as RTSP, forgets the failure.
    static func keepsDeadline(after code: Int32, _ interrupter: Interrupter) -> Bool {
        code >= 0 ? interrupter.hasTimedOut : code == relay_averror(EAGAIN) && !interrupter.mustEnd
    }

    /// Seeks in `stream` to the last packet at or before `pts` from which decoding can start. `pts` is in ticks of the
    /// stream.
    package func seek(_ stream: StreamInfo, to pts: Int64) throws(AVFailure) {
        ahead = []
        interrupter.allow(readTimeout)
        let code = avformat_seek_file(context, Int32(stream.index), .min, pts, pts, AVSEEK_FLAG_BACKWARD)
        try Self.check(code, "seek in", subject, interrupter)
        if maps != nil, maps?.rest == nil { lookForChangeAfterSeek() }
    }

    /// Seeks to the first packet.
    package func seekToStart() throws(AVFailure) {
        ahead = []
        interrupter.allow(readTimeout)
        // In MPEG-TS, libavformat seeks to a time by bisection and may miss the first keyframe. A seek to byte 0 cannot
        // miss it.
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

// MARK: Changes of the coding

extension Demuxer {
    /// The initialization sections at which media playlists of the input ended, because the segments that follow are
    /// coded in another way; empty as long as no media playlist has ended in this way. A new demuxer can continue with
    /// these segments.
    package var nextInitializations: [InitializationAddress] { resources?.initializations?.refused ?? [] }

    /// Whether the streams come from different playlists: libavformat's `hls` demuxer makes the playlist's number the
    /// id of its streams.
    var hasSeveralPlaylists: Bool {
        Set((0..<Int(context.pointee.nb_streams)).compactMap { context.pointee.streams?[$0]?.pointee.id }).count > 1
    }

    /// The bytes of a transport stream in a file whose coding or PIDs change in the part that was probed; nil for all
    /// other inputs. The streams of this demuxer are a mixture of those in front of the change and behind it, so
    /// another demuxer must read these bytes instead.
    package var wholeFileWithChange: TransportStreamBytes? {
        maps?.wholeFile(ifChangedIn: context.pointee.probesize, following: Set(streams.map(\.id)))
    }

    /// The offset of the next byte that libavformat takes from the file.
    var position: Int64 { context.pointee.pb.map { max(0, avio_skip($0, 0)) } ?? 0 }

    /// If the program map of a file has changed a coding since the byte `place`, makes the file end for libavformat at
    /// the current position. libavformat then returns the packets that it holds.
    func lookForChange(from place: Int64) {
        if maps?.note(context, from: place, following: followedPIDs) == true { endFile() }
    }

    /// Called after a seek. If the next program map has another coding than the first map of the file, makes the file
    /// end for libavformat at the current position.
    func lookForChangeAfterSeek() {
        if maps?.noteSeek(context, to: position, following: followedPIDs) == true { endFile() }
    }

    /// The PIDs of the selected streams; nil for all.
    private var followedPIDs: Set<Int>? {
        let selected = continuations.selected.compactMap { context.pointee.streams?[$0]?.pointee.id }
        return selected.isEmpty ? nil : Set(selected.map(Int.init))
    }

    /// Makes libavformat read a live transport stream through ``TransportStreamBytes``, which end at a change of the
    /// coding. It applies from the first byte that libavformat has not read for probing.
    private func watchLiveMaps() throws(AVFailure) {
        guard formatName == "mpegts", maps == nil, duration == nil, let bytes = context.pointee.pb else { return }
        let place = position
        let live = TransportStreamBytes(AddressBytes(taking: bytes, interrupter: interrupter))
        // libavformat must neither close nor use the context that `live` owns now.
        context.pointee.flags |= AVFMT_FLAG_CUSTOM_IO
        context.pointee.pb = nil
        let reader = try ByteReader(live, at: place, interrupter: interrupter, subject: subject)
        context.pointee.pb = reader.context
        self.reader = reader
    }

    private func endFile() {
        guard let bytes = context.pointee.pb else { return }
        // The buffer is emptied, but the read position stays the same. If it changed, libavformat's demuxer would drop
        // the packets that are not complete yet, as after a seek.
        bytes.pointee.pos -= Int64(bytes.pointee.buf_end - bytes.pointee.buf_ptr)
        bytes.pointee.buf_ptr = bytes.pointee.buf_end
        bytes.pointee.read_packet = { _, _, _ in relay_averror_eof }
    }
}
