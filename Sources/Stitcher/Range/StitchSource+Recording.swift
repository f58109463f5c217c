// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import LibAV
internal import MP4
internal import Media

/// Creates sources from the tables of recordings. A recording also contains its position in the program.
extension StitchSource {
    /// Creates the source from the recording `index`; messages call the recording `name`. All of its frames count as
    /// shown, even frames before its first visible frame. Times are in ticks, counted from that first visible frame.
    init(name: String, _ index: SegmentIndex) {
        let (track, leading) = (index.video, index.facts.leading)
        let scale = Int32(clamping: track.timescale)
        let order = track.samples.indices.sorted { (track.samples[$0].pts, $0) < (track.samples[$1].pts, $1) }
        var samples = track.samples
        for (number, place) in order.enumerated() { samples[place].pts = Int64(number) }
        let times = order.map { track.samples[$0].pts }
        let rate = FrameRate(scale, Int32(clamping: max(1, leading.sampleDuration)))
        let isTrimmed = index.facts.position?.isTrimmed == true
        self.init(
            name: name, path: index.descriptor.path, container: "mp4",
            video: Video(
                stream: 0, codec: "h264",
                frames: FrameFormat(width: Int(track.size.width), height: Int(track.size.height)),
                orientation: .upright, isInterlaced: false, configuration: track.decoderConfiguration, obstacle: nil,
                timeBase: TimeBase(1, scale), samples: samples, times: times,
                end: isTrimmed ? leading.shown : (times.last ?? 0) + leading.sampleDuration, rate: rate,
                isConstant: false),
            audio: index.audio.map { audio in
                let scale = Int32(clamping: audio.timescale)
                let begin = index.facts.audio?.offset ?? 0
                let end = audio.samples.last.map { $0.pts + $0.duration } ?? begin
                // The number of channels is always given as 2. It has no effect, because a recording's audio is copied
                // and not decoded.
                return Audio(
                    stream: 1, codec: "aac", format: AudioFormat(sampleRate: scale, channels: 2),
                    timeBase: TimeBase(1, scale), range: begin..<max(begin, end), packets: audio.samples)
            }, created: index.facts.start.milliseconds, position: index.facts.position)
        recording = Recording(
            file: index.descriptor, tracks: [track.layout] + (index.audio.map { [$0.layout] } ?? []),
            samples: track.samples, encoderSettings: index.encoderSettings, channel: index.facts.channel)
    }

    /// The wall-clock times at which the first frame began and the last frame ended: milliseconds since
    /// 1970-01-01T00:00:00Z.
    var start: Int64 { created ?? 0 }
    var endTime: Int64 { start + video.timeBase.rescale(video.end, to: .milliseconds) }

    /// The duration of one frame in ticks.
    var frameDuration: Int64 { video.rate.timeBase.rescale(1, to: video.timeBase) }

    var packets: [IndexedSample] { audio?.packets ?? [] }
    var audioBase: TimeBase { audio?.timeBase ?? TimeBase(1, 48_000) }

    /// The maximum rounding error of times: one millisecond, the unit of times in RTMP and FLV.
    private static let programRounding = Duration.milliseconds(1)

    /// Converts the program time `time` to ticks since the first frame. Because of rounding errors, a
    /// frame at `time` can have a slightly earlier tick; the result is the earliest tick that the frame can have. Nil
    /// for a file that does not contain its position in the program.
    func ticks(atProgram time: ProgramInstant) -> Int64? {
        position.map { position in
            let distance = time - Self.programRounding - position.programStart
            return TimeBase.nanoseconds.rescale(distance.inNanoseconds, to: video.timeBase, rounding: .up)
        }
    }

    /// Whether a frame of the file begins within `program`, a range of program times. Also true if the file does not
    /// contain its position in the program.
    func hasFrame(within program: Range<ProgramInstant>) -> Bool {
        guard let low = ticks(atProgram: program.lowerBound), let high = ticks(atProgram: program.upperBound) else {
            return true
        }
        return video.times.contains { $0 >= low && $0 < high }
    }
}

/// Files that contain more frames than they show. Such files are made when a source's stream is recorded without
/// re-encoding and is cut at frames that are not keyframes.
extension StitchSource {
    private var isTrimmed: Bool { position?.isTrimmed == true }

    /// The distance from the first frame of `before` to the first frame of this file, in ticks of the video. Nil if a
    /// file does not contain its position, or if the files are parts of different streams. The distance cannot be
    /// counted in frames, because the frames of a stream that is recorded without re-encoding have no constant
    /// duration.
    func distance(from before: StitchSource) -> Int64? {
        guard isTrimmed, before.isTrimmed, let start = position, let other = before.position, start.run == other.run
        else { return nil }
        return video.timeBase.ticks(start.programStart - other.programStart)
    }

    /// Returns `sources`, but removes from each file the samples that the previous file also contains. Together, the
    /// returned sources are the complete stream.
    static func joined(_ sources: [StitchSource]) -> [StitchSource] {
        sources.enumerated().map { index, source in
            index > 0 ? source.behind(sources[index - 1]) : source
        }
    }

    private func behind(_ before: StitchSource) -> StitchSource {
        guard let distance = distance(from: before), let last = before.video.samples.map(\.dts).max() else {
            return self
        }
        let kept = video.samples.filter { $0.dts + distance > last + frameDuration / 2 }
        // A file is left unchanged if it shares no samples with the previous file, or if it shares all of them.
        guard !kept.isEmpty, kept.count < video.samples.count else { return self }
        var source = self
        let order = kept.indices.sorted { kept[$0].pts < kept[$1].pts }
        source.video.samples = kept
        for (number, place) in order.enumerated() { source.video.samples[place].pts = Int64(number) }
        source.video.times = order.map { video.times[Int(kept[$0].pts)] }
        if let end = before.packets.last.map({ $0.pts + $0.duration }), let heard = audio?.range {
            let distance = video.timeBase.rescale(distance, to: audioBase)
            source.audio?.packets.removeAll { $0.pts + $0.duration / 2 + distance < end }
            let begin = source.packets.first?.pts ?? heard.lowerBound
            source.audio?.range = begin..<max(begin, heard.upperBound)
        }
        return source
    }
}
