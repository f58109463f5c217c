// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Glibc
internal import LibAV
internal import MP4
internal import Media

/// Finds all packets of a file without decoding them, to determine how the file can be used. The inspector uses the
/// file's tables if possible; otherwise it reads the complete file.
struct StitchInspector {
    private let name: String
    let demuxer: Demuxer
    let video: StreamInfo
    private let frames: StreamInfo.Video
    let audio: StreamInfo?
    let isMovie: Bool
    /// The content of `avcC` or `hvcC`. For a transport stream, the content is made from the first keyframe.
    private var configuration: [UInt8]
    private var sets: AVCParameterSets?
    private var hevcSets: HEVCParameterSets?
    /// Reads the parameter sets in a transport stream's packets; nil for files that store parameter sets apart from the
    /// frames.
    private var units: AnnexBReader?

    private var packets: [Packet] = []
    /// The numbers of the keyframes that cannot follow frames of another stream.
    private var dependentKeyframes: Set<Int> = []
    private var changesSets = false
    private var hasEntry = false
    /// A sentence about the packets that a transport stream has lost; nil if it has lost none.
    private var loss: String?
    /// The range of audio that the packets read so far cover, in ticks of the audio stream; nil at the beginning.
    private var heard: Range<Int64>?
    /// The packets of audio, with their times in ticks of the audio stream.
    var audioPackets: [IndexedSample] = []
    /// `latest` is the latest decoding time of the video so far, in ticks, and `end` is the time at which the last
    /// packet of any stream ends.
    private var latest: Int64?
    private var end = Duration.zero

    /// The properties of a video packet that are stored.
    private struct Packet {
        /// The sample's position and time. In H.264, `isSync` is set only for IDR frames, because only these can follow
        /// frames of another stream.
        var sample: IndexedSample
        /// Whether decoding can begin at this packet, according to the container.
        var isEntry: Bool
        var isHidden: Bool
    }

    /// How much libav is allowed to read to find the size of the video: 64 MiB, and 20 s (in microseconds). The limits
    /// are high because a file can begin between two keyframes. libav stops earlier, as soon as it knows all
    /// properties.
    private static let probing = ["probesize": "67108864", "analyzeduration": "20000000"]

    /// Opens the file at `path` with libav. libav is allowed to open only files, so that a file that contains network
    /// addresses cannot make it connect to them.
    static func open(_ path: String, name: String) throws(ClipFailure) -> Demuxer {
        do throws(AVFailure) {
            let values = probing.merging(["protocol_whitelist": "file"]) { _, new in new }
            return try Demuxer(
                url: "file:" + path, options: Demuxer.Options(values: values), interrupter: Interrupter(), subject: name
            )
        } catch {
            throw ClipFailure("\(name) cannot be read: \(error.message).")
        }
    }

    /// Opens the file of `source` to read only the stream with the number `index`.
    static func open(_ source: StitchSource, stream index: Int) throws(ClipFailure) -> (Demuxer, StreamInfo) {
        let demuxer = try open(source.path, name: source.name)
        guard let stream = demuxer.streams.first(where: { $0.index == index }) else {
            throw ClipFailure("\(source.name) has changed.")
        }
        demuxer.select([stream.index])
        return (demuxer, stream)
    }

    /// Inspects the file `path`. Blocks on the disk.
    static func read(_ path: String, isCancelled: () -> Bool) throws(ClipFailure) -> StitchSource {
        guard let found = realpath(path, nil) else { throw ClipFailure("\(FileFailure("read", path, code: errno)).") }
        defer { free(found) }
        let resolved = String(cString: found)
        var quick = try StitchInspector(resolved, name: path)
        // The tables are sufficient only at a constant frame rate, because they do not show whether the last frame
        // lasts longer or shorter than the other frames.
        if try quick.readTables(resolved, isCancelled), let source = try? quick.source(resolved),
            source.video.isConstant
        {
            return source
        }
        var inspector = try StitchInspector(resolved, name: path)
        try inspector.readPackets(isCancelled)
        return try inspector.source(resolved)
    }

    private init(_ path: String, name: String) throws(ClipFailure) {
        self.name = name
        demuxer = try Self.open(path, name: name)
        guard let video = demuxer.bestVideo, let frames = video.video, frames.width > 0, frames.height > 0 else {
            throw ClipFailure("\(name) has no video.")
        }
        (self.video, self.frames, audio) = (video, frames, demuxer.bestAudio)
        isMovie = demuxer.formatName.split(separator: ",").contains("mov")
        configuration = video.configuration
        if demuxer.formatName == "mpegts", let codec = video.codec, codec == .h264 || codec == .hevc {
            units = AnnexBReader(codec)
        } else {
            takeSets()
        }
        if !statesDuration { demuxer.select(Set([video.index] + (audio.map { [$0.index] } ?? []))) }
    }

    private mutating func takeSets() {
        sets = video.codecName == "h264" ? AVCParameterSets(record: configuration) : nil
        hevcSets = video.codecName == "hevc" ? HEVCParameterSets(record: configuration) : nil
    }

    /// Whether only the duration in the file's header shows that the file's end is missing, because libavformat does
    /// not report a missing end for this container.
    private var statesDuration: Bool { hasPackets }

    /// Whether the container's packets have the same form as in an MP4, although the container does not store each
    /// packet contiguously.
    private var hasPackets: Bool { demuxer.formatName.hasPrefix("matroska") || demuxer.formatName == "flv" }
    /// A file is refused as truncated if the duration in its header exceeds the end of its last packet by more than
    /// this.
    private static let missing = Duration.seconds(1)

    private mutating func readPackets(_ isCancelled: () -> Bool) throws(ClipFailure) {
        while !isCancelled(), let packet = try readPacket() {
            end = max(end, demuxer.end(of: packet) ?? .zero)
            if packet.streamIndex == video.index {
                try takeFrame(packet)
            } else if packet.streamIndex == audio?.index {
                takeAudio(packet)
            }
        }
        if isCancelled() { throw ClipFailure.cancelled }
        guard statesDuration, let duration = demuxer.duration, duration - end > Self.missing else { return }
        throw ClipFailure("\(name) is truncated: it ends after \(DurationText(end)) of \(DurationText(duration)).")
    }

    /// Whether all `ticks` are so small that their sums and differences do not overflow.
    static func canHold(_ ticks: [Int64]) -> Bool { ticks.allSatisfy { $0.magnitude <= 1 << 60 } }

    /// The next packet of the video stream, of the audio stream or, if ``statesDuration`` is set, of any stream; nil at
    /// the end of the file. Throws if the file is truncated, damaged or encrypted.
    func readPacket() throws(ClipFailure) -> PacketBox? {
        let packet: PacketBox?
        do throws(AVFailure) {
            packet = try demuxer.readPacket()
        } catch {
            throw ClipFailure("\(name) is truncated or damaged: it cannot be read to its end.")
        }
        if let packet, !Self.canHold([packet.pts ?? 0, packet.dts ?? 0, packet.duration]) {
            throw ClipFailure("\(name) is damaged: its time stamps are beyond all bounds.")
        }
        if packet?.isEncrypted == true { throw ClipFailure("\(name) is encrypted.") }
        if isMovie, packet?.isCorrupt == true {
            throw ClipFailure("\(name) is truncated or damaged: it cannot be read to its end.")
        }
        return packet
    }

    /// How far decoding times are allowed to go back in containers whose decoding times libavformat guesses.
    private static let guessing = Duration.milliseconds(500)

    private mutating func takeFrame(_ packet: PacketBox) throws(ClipFailure) {
        if units != nil { noteLosses(packet) }
        guard let pts = packet.pts ?? packet.dts else { return }
        if !isMovie, let dts = packet.dts {
            if let latest, dts < latest - video.timeBase.ticks(Self.guessing) {
                let time = video.timeBase.duration(latest - (packets.first?.sample.dts ?? latest))
                throw ClipFailure(
                    "\(name): its time stamps go back \(DurationText(time)) into it, as where files were put one behind the "
                        + "other; stitch those files, or repair this one.")
            }
            latest = max(latest ?? dts, dts)
        }
        if let configuration = packet.newConfiguration, configuration != video.configuration { changesSets = true }
        var sample = IndexedSample(
            dts: packet.dts ?? pts, pts: pts, duration: packet.duration, offset: packet.position ?? -1,
            size: Int64(packet.size), isSync: packet.isKeyframe)
        guard units != nil else { return take(sample, isHidden: packet.isHidden) { _ in packet.content } }
        guard let unit = readUnit(packet) else { return }
        (sample.size, sample.isSync) = (Int64(unit.payload.count), unit.isKeyframe)
        take(sample, isHidden: packet.isHidden) { _ in unit.payload.array }
    }

    /// Records damage because of which a transport stream's frames cannot be copied. Frames before the first keyframe
    /// are ignored.
    private mutating func noteLosses(_ packet: PacketBox) {
        guard hasEntry else { return }
        if packet.isCorrupt { loss = "packets of it are missing or damaged" }
        if packet.size > 0, packet.pts == nil, packet.dts == nil { loss = "frames of it have no time stamps" }
    }

    /// The frame in a packet of a transport stream; nil if the packet contains no frame.
    private mutating func readUnit(_ packet: PacketBox) -> AnnexBReader.AccessUnit? {
        let before = units?.sets
        let unit = units?.read(packet.content, isRandomAccess: packet.isKeyframe)
        guard let now = units?.sets, now != before else { return unit }
        if sets != nil || hevcSets != nil {
            changesSets = true
        } else if let found = now.configuration {
            configuration = found
            takeSets()
        }
        return unit
    }

    /// Adds a frame. If the container marks it as a keyframe, `content` is called to get its first bytes, or all of its
    /// bytes if `isWhole` is true.
    mutating func take(_ sample: IndexedSample, isHidden: Bool, content: (_ isWhole: Bool) -> [UInt8]?) {
        var sample = sample
        let isEntry = sample.isSync
        if sample.isSync, let sets {
            var look = sets.looks(at: content(false) ?? [])
            // If only the beginning of a keyframe is read, it can seem to have other parameter sets, or to be no IDR
            // frame. In that case the complete frame is read.
            if !look.isIDR || look.hasOtherSets { look = sets.looks(at: content(true) ?? []) }
            sample.isSync = look.isIDR
            changesSets = changesSets || look.hasOtherSets
        } else if sample.isSync, let hevcSets {
            var look = hevcSets.looks(at: content(false) ?? [])
            if !look.isIndependent || look.hasOtherSets { look = hevcSets.looks(at: content(true) ?? []) }
            if !look.isIndependent { dependentKeyframes.insert(packets.count) }
            changesSets = changesSets || look.hasOtherSets
        }
        hasEntry = hasEntry || isEntry
        packets.append(Packet(sample: sample, isEntry: isEntry, isHidden: isHidden))
    }

    private mutating func takeAudio(_ packet: PacketBox) {
        guard let pts = packet.pts else { return }
        takeHeard(packet)
        audioPackets.append(
            IndexedSample(
                dts: pts, pts: pts, duration: packet.duration, offset: packet.position ?? -1,
                size: Int64(packet.size), isSync: true))
    }

    /// Records the range of audio that a packet covers.
    mutating func takeHeard(_ packet: PacketBox) {
        guard let audio, let pts = packet.pts, audio.sampleRate > 0 else { return }
        let sample = TimeBase(1, Int32(clamping: audio.sampleRate))
        let skipped = packet.skippedSamples
        let low = pts + sample.rescale(skipped.first, to: audio.timeBase)
        let high = pts + packet.duration - sample.rescale(skipped.last, to: audio.timeBase)
        guard low < high else { return }
        heard = min(heard?.lowerBound ?? low, low)..<max(heard?.upperBound ?? high, high)
    }
}

extension StitchInspector {
    private func source(_ path: String) throws(ClipFailure) -> StitchSource {
        let track = try videoTrack()
        let created = demuxer.tag("creation_time") ?? demuxer.tag("date")
        return StitchSource(
            name: name, path: path, container: demuxer.formatName, video: track, audio: audioTrack,
            created: created.flatMap(UTCTime.init(stated:))?.milliseconds,
            position: (try? SegmentReader.read(path))?.position, notes: leftOut)
    }

    /// The reason why frames cannot be copied from the file; nil if they can be.
    private func obstacle(isPieced: Bool) -> String? {
        guard isMovie || hasPackets || units != nil else {
            return "its container is \(demuxer.formatName), not MP4, MOV, Matroska, FLV or a transport stream"
        }
        if isMovie, packets.contains(where: { $0.sample.offset < 0 }) {
            return "its samples cannot be found in the file"
        }
        if isPieced { return "its edit list joins several pieces" }
        if let loss { return loss }
        if units != nil, frames.isInterlaced { return "it is interlaced, in a transport stream" }
        if sets == nil, hevcSets == nil { return "its parameter sets are not in the container" }
        return changesSets ? "its parameter sets change within it" : nil
    }
}

extension UTCTime {
    /// Reads a time in the form that containers use: `2026-11-21T14:03:10.123456Z`, with a fraction of any length or
    /// without one.
    init?(stated text: String) {
        let seconds = text.prefix(19)
        let fraction = text.dropFirst(19).first == "." ? text.dropFirst(20).prefix { $0.isNumber } : ""
        let milliseconds = (fraction.prefix(3) + "000").prefix(3)
        self.init(extended: "\(seconds).\(milliseconds)Z")
    }
}

// MARK: Frames

extension StitchInspector {
    /// The packets of the video, in which frame numbers replace the times.
    private struct Numbers {
        var samples: [IndexedSample]
        /// The times of the visible frames, in order, in ticks of the video.
        var times: [Int64] = []
        /// Whether hidden frames are between visible ones.
        var isPieced = false
        /// The number of frames at the beginning that cannot be decoded, not counting frames that an edit list hides.
        var headless = 0
    }

    private func videoTrack() throws(ClipFailure) -> StitchSource.Video {
        let numbers = numbered()
        let all = numbers.times
        let whole = FrameTiming.whole(all, video.timeBase, average: frames.averageRate)
        let (times, timing) = (Array(all[..<whole.count]), whole.timing)
        guard let last = times.last else { throw ClipFailure("\(name) has no frame that can be decoded.") }
        let frame = timing.rate.timeBase.rescale(1, to: video.timeBase)
        let stated = packets.first { $0.sample.pts == last }?.sample.duration ?? 0
        return StitchSource.Video(
            stream: video.index, codec: video.codecName,
            frames: FrameFormat(
                width: frames.width, height: frames.height, sampleAspectRatio: frames.sampleAspectRatio ?? .square,
                color: frames.color), orientation: frames.orientation, isInterlaced: frames.isInterlaced,
            configuration: configuration, obstacle: obstacle(isPieced: numbers.isPieced),
            isDemuxed: !isMovie, units: units, is8Bit420: sets?.is8Bit420 ?? true, timeBase: video.timeBase,
            samples: numbers.samples, times: times,
            end: last + (timing.isConstant || stated <= 0 ? max(1, frame) : stated), rate: timing.rate,
            isConstant: timing.isConstant, headless: numbers.headless, torn: all.count - times.count,
            openEntries: Set(packets.indices.filter { packets[$0].isEntry && !packets[$0].sample.isSync }),
            dependentKeyframes: dependentKeyframes)
    }

    /// Numbers the visible frames. A frame is not visible if an edit list hides it, or if it cannot be decoded because
    /// the file begins in the middle of a GOP. A hidden frame between two visible pieces gets the number of the next
    /// visible frame.
    private func numbered() -> Numbers {
        let entry = packets.firstIndex(where: \.isEntry) ?? 0
        let start = packets.isEmpty ? 0 : packets[entry].sample.pts
        func isShown(_ index: Int) -> Bool {
            !packets[index].isHidden && index >= entry && packets[index].sample.pts >= start
        }
        let order = packets.indices.sorted {
            (packets[$0].sample.pts, $0) < (packets[$1].sample.pts, $1)
        }
        let first = order.firstIndex(where: isShown) ?? order.count
        let last = order.lastIndex(where: isShown) ?? order.count
        var numbers = Numbers(samples: packets.map(\.sample))
        for (rank, index) in order.enumerated() {
            let number: Int
            if rank < first {
                number = rank - first
                if !packets[index].isHidden { numbers.headless += 1 }
            } else if isShown(index) {
                number = numbers.times.count
                numbers.times.append(packets[index].sample.pts)
            } else {
                number = numbers.times.count + max(0, rank - last - 1)
                if rank < last { numbers.isPieced = true }
            }
            numbers.samples[index].pts = Int64(number)
        }
        return numbers
    }
}

// MARK: Audio

extension StitchInspector {
    /// The audio track; nil if the file has no audio that can be heard.
    private var audioTrack: StitchSource.Audio? {
        guard let audio, let heard, audio.sampleRate > 0 else { return nil }
        let format = AudioFormat(sampleRate: Int32(clamping: audio.sampleRate), channels: max(1, audio.channels))
        let obstacle = obstacle(audio, format)
        var packets = obstacle == nil ? audioPackets : []
        // Each packet gets a duration of 1024 samples. The tables do not contain durations, but every packet that can
        // be copied has this many samples.
        for index in packets.indices { packets[index].duration = AudioGrid.step }
        return StitchSource.Audio(
            stream: audio.index, codec: audio.codecName, format: format, timeBase: audio.timeBase, range: heard,
            configuration: audio.configuration, packets: packets, obstacle: obstacle)
    }

    /// The reason why the packets of `audio` cannot be copied; nil if they can be. Packets can be copied if they are
    /// AAC-LC, have 1024 samples each and no gaps between them, and use no extension such as spectral band replication.
    private func obstacle(_ audio: StreamInfo, _ format: AudioFormat) -> String? {
        guard isMovie else { return "its container is \(demuxer.formatName), not MP4 or MOV" }
        guard audio.codecName == "aac" else { return "it is \(audio.codecName)" }
        let configuration = audio.configuration
        // AudioSpecificConfig (ISO/IEC 14496-3, 1.6.2.1): object type 2, three zero bits after rate and channels, and
        // at most one extension, which says that there is no spectral band replication.
        guard configuration.count >= 2, configuration[0] >> 3 == 2, configuration[1] & 7 == 0,
            [[], [0x56, 0xE5, 0]].contains(Array(configuration[2...])),
            let header = AACHeader(configuration: configuration), header.sampleRate == format.sampleRate
        else { return "it is not plain AAC-LC" }
        guard header.channels == format.channels, (1...2).contains(format.channels) else {
            return "it has \(format.channels) channels"
        }
        let isWhole =
            audio.timeBase == format.timeBase && audioPackets.allSatisfy { $0.offset >= 0 }
            && zip(audioPackets, audioPackets.dropFirst()).allSatisfy { $1.pts - $0.pts == 1024 }
        return isWhole ? nil : "its packets do not follow each other"
    }

    /// Notes on the parts of the file and of its audio that are left out.
    private var leftOut: [String] {
        var notes: [String] = []
        let tracks = demuxer.trackCounts
        if tracks.video > 1 { notes.append("of its \(tracks.video) tracks of video one is used") }
        if tracks.audio > 1 { notes.append("of its \(tracks.audio) tracks of audio one is used") }
        if tracks.subtitles > 0 { notes.append("its subtitles are left out") }
        if let audio, audio.channels > 2 { notes.append("its \(audio.channels) channels of audio are mixed into two") }
        return notes
    }
}
