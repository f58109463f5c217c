// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Encoder
internal import LibAV
internal import MP4
internal import Media

/// Makes one file from pieces of other files: inspects all files, makes a plan, and carries out the plan. The pieces
/// are clips, one after the other, or a range of recordings.
///
/// ```swift
/// let clips = [StitchClip(path: "a.mp4", to: .seconds(10)), StitchClip(path: "b.mp4", from: .seconds(5))]
/// let request = StitchRequest(clips: clips, output: "both.mp4", replaces: false, version: RelayVersion.text)
/// let job = try StitchJob(request, isCancelled: { false })
/// let report = try job.run(progress: { done, total in print("\(done) of \(total)") }, isCancelled: { false })
/// ```
package struct StitchJob {
    let request: StitchRequest
    /// The range of recordings that the file contains; nil for clips.
    let range: RangePlan?
    /// The source file of each clip, by the clip's number.
    package let sources: [StitchSource]
    /// The plan by which the file is made.
    package let plan: StitchPlan
    /// The audio of the result; nil for a result without audio.
    let heard: AudioPlan?
    private let leftOut: [String]

    /// Reads the files of `request` and makes the plan. Blocks on the disk. `looked` is called with the number of clips
    /// inspected so far.
    package init(
        _ request: StitchRequest, looked: (_ clips: Int) -> Void = { _ in }, isCancelled: () -> Bool
    ) throws(ClipFailure) {
        guard !request.clips.isEmpty else { throw ClipFailure("There is no clip to stitch.") }
        var known: [String: StitchSource] = [:]
        var sources: [StitchSource] = []
        for clip in request.clips {
            if known[clip.path] == nil {
                known[clip.path] = try clip.placing { () throws(ClipFailure) in
                    try StitchInspector.read(clip.path, isCancelled: isCancelled)
                }
            }
            if let source = known[clip.path] { sources.append(source) }
            looked(sources.count)
        }
        let (clips, left, without) = try Self.filled(request.clips, sources)
        sources = left.map { sources[$0] }
        let order = try request.order.order(sources)
        self.sources = order.map { sources[$0] }
        var ordered = request
        ordered.clips = order.map { clips[$0] }
        self.request = ordered
        leftOut = without
        let plan = try StitchPlan(ordered.clips, of: self.sources, ordered.settings)
        if let clip = plan.mappedClips(self.sources).first, !ToneMapping.isPossible {
            throw ClipFailure(
                "\(self.sources[clip].name) is HDR, which this machine's libavfilter cannot make what others are: it lacks "
                    + "zscale or tonemap.")
        }
        heard = try Self.heard(plan, ordered, self.sources, isCancelled: isCancelled)
        (self.plan, range) = (plan, nil)
    }

    /// Reads the recordings of `range` and makes the plan. `request` contains the properties of the result, but no
    /// clips. Blocks on the disk.
    package init(_ range: RecordedRange, _ request: StitchRequest, isCancelled: () -> Bool) throws(ClipFailure) {
        sources = try range.read(isCancelled: isCancelled)
        let plan = try RangePlan(
            sources, from: range.range.lowerBound, to: range.range.upperBound, isExact: range.isExact,
            program: range.program)
        (self.range, self.plan, heard, self.request, leftOut) = (plan, plan.frames, plan.audio, request, [])
    }

    /// Returns the plan for the audio of the result. Packets are copied if re-encoded packets can be joined to them.
    private static func heard(
        _ plan: StitchPlan, _ request: StitchRequest, _ sources: [StitchSource], isCancelled: () -> Bool
    ) throws(ClipFailure) -> AudioPlan? {
        guard let format = plan.audio else { return nil }
        let (windows, settings) = (AACWindows(sources), request.settings)
        let trial = AudioSeamTrial(format: format, sources: sources, bitrate: settings.encoder.audioBitrate)
        do {
            return try trial.tried(
                { AudioPlan(plan, request.clips, sources, settings.audio, torn: $0, window: windows.window) },
                isCancelled: isCancelled)
        } catch let failure as ClipFailure {
            throw failure
        } catch {
            throw ClipFailure("\(error)")
        }
    }

    /// Leaves out clips that contain no frame, if they are allowed to be empty. Returns the remaining clips, their
    /// numbers, and the reasons why the other clips are left out.
    static func filled(
        _ clips: [StitchClip], _ sources: [StitchSource]
    ) throws(ClipFailure) -> (clips: [StitchClip], numbers: [Int], leftOut: [String]) {
        var (filled, numbers, leftOut): ([StitchClip], [Int], [String]) = ([], [], [])
        var transition: StitchTransition?
        for (number, clip) in clips.enumerated() {
            let source = sources[number]
            if clip.mayBeEmpty {
                do {
                    _ = try ClipRange(clip, of: source, at: source.video.rate)
                } catch {
                    transition = clip.transition ?? transition
                    leftOut.append("a piece of it is left out: \(error.text(of: source))")
                    continue
                }
            }
            var clip = clip
            // A clip without a transition of its own gets the transition of the clip before it that was left out.
            clip.transition = clip.transition ?? transition
            transition = nil
            filled.append(clip)
            numbers.append(number)
        }
        guard !filled.isEmpty else { throw ClipFailure("There is no frame in any of the clips.") }
        return (filled, numbers, leftOut)
    }

    /// Notes on the parts of clips that were requested but are left out.
    package var notes: [String] {
        leftOut
            + plan.clips.flatMap { clip in
                clip.notes.map { "\(sources[clip.source].fileName): \($0)" }
            } + generalNotes
    }

    /// Notes on the result that do not concern a single clip.
    package var generalNotes: [String] {
        plan.clips.count > Chapter.most
            ? ["the first \(Chapter.most) of \(plan.clips.count) clips have chapters: a file holds no more"] : []
    }

    /// Whether packets of audio of the clip `index` are copied.
    package func copiesAudio(of index: Int) -> Bool {
        heard?.spans.contains { if case .copied(index, _) = $0 { true } else { false } } ?? false
    }

    /// Why the audio of the clip `index` is re-encoded; nil if it is copied, or if the result has no audio.
    package func audioReason(of index: Int) -> String? {
        guard let heard, index < heard.reasons.count else { return nil }
        return heard.reasons[index]
    }

    /// By how much the frames of the clip `index` are later than their frame rate requires, because its audio or that
    /// of an earlier clip is copied.
    package func move(of index: Int) -> Duration {
        guard let heard, let base = plan.audio?.timeBase, index < heard.moves.count else { return .zero }
        return base.duration(heard.moves[index])
    }

    /// An estimate of the maximum number of bytes that are needed on the disk, including tables.
    package var estimatedBytes: Int64 {
        var bytes: Int64 = 0
        for part in plan.parts {
            switch part {
            case .copied(let clip, let samples):
                bytes += sources[clip].video.samples[samples].reduce(0) { $0 + $1.size }
            case .encoded(let clip, let frames):
                // The estimate for a re-encoded frame is a twentieth of a byte per pixel, which is more than x264 needs
                // for most videos at this quality. For a frozen frame, it is a tenth of that. If packets are also
                // stored in the journal, the frames need twice the space.
                let moving = frames.clamped(to: 0..<plan.clips[clip].count - plan.clips[clip].held).count
                let weighed = Int64(moving + (frames.count - moving) / 10)
                bytes += weighed * Int64(plan.video.width * plan.video.height) / (request.resumes ? 10 : 20)
            }
        }
        let seconds = plan.video.frameRate.timeBase.rescale(Int64(plan.frameCount), to: TimeBase(1, 1), rounding: .up)
        for case .copied(let clip, let packets) in heard?.spans ?? [] {
            bytes += sources[clip].audio?.packets[packets].reduce(0) { $0 + $1.size } ?? 0
        }
        if range != nil {
            // 1 MiB is added, because on a nearly full file system a file can need more space than its size.
            bytes += 1 << 20
        } else if plan.audio != nil {
            bytes += seconds * Int64(request.settings.encoder.audioBitrate / 8)
        }
        // A fragmented file is made from a complete file, and both need space at the same time.
        return (bytes + tableBytes) * (request.form == .fragmented ? 2 : 1)
    }

    /// An upper bound for the size of the tables. For each frame, it counts the frame's size, its entry in the list of
    /// keyframes, its composition offset and, where clips are joined, a change of duration. For each packet of audio,
    /// it counts the packet's size. For each frame and packet, it counts a chunk of its own and a change of
    /// description. For each chapter, it counts the size and the duration.
    private var tableBytes: Int64 {
        let frames = plan.clips.indices.reduce(Int64(0)) { $0 + Int64(plan.written(of: $1).count) }
        let packets = (plan.audio?.timeBase).map { base in
            plan.video.frameRate.timeBase.rescale(Int64(plan.frameCount), to: base) / 1024 + 4
        }
        return (64 << 10) + frames * 36 + Int64(plan.clips.count) * 28 + (packets ?? 0) * 24
    }

    /// Makes the file. `progress` is called with the number of finished frames and the number of all frames;
    /// `isCancelled` is called often.
    package func run(
        progress: @escaping (_ done: Int, _ total: Int) -> Void, isCancelled: @escaping () -> Bool
    ) throws -> StitchReport {
        let journal = try journal()
        FinishedFile.removeLeftovers(of: request.output)
        let there = try journal?.size() ?? 0
        try FinishedFile.checkRoom(
            for: max(0, estimatedBytes - there) + request.reserve, at: request.output,
            range != nil ? "it needs" : request.reserve > 0 ? "with what stays free it may need" : "it may need")
        // The tables of a range are written after the media, as in recordings.
        let reserved = range == nil ? tableBytes : 0
        let file = try ClipFile(request.output, replaces: request.replaces, reserving: reserved)
        let pieces = try pieces(isCancelled)
        let settings = request.settings.encoder
        var audio: AudioWriter?
        if let format = plan.audio, let heard {
            audio = AudioWriter(heard, format, sources, bitrate: settings.audioBitrate, file: file, joint: copiedClips)
        }
        let (frame, total, writer) = (plan.video.frameRate.timeBase, plan.frameCount, audio)
        let base = plan.audio?.timeBase ?? .milliseconds
        let renderer = FrameRenderer(plan, request.clips, sources, request.settings.fitting)
        let video = VideoWriter(
            plan, sources, settings, renderer: renderer, file: file, audio: audio, pieces: pieces, journal: journal
        ) { frames in
            if isCancelled() { throw ClipFailure.cancelled }
            progress(frames, total)
            try writer?.advance(to: frame.rescale(Int64(frames), to: base))
        }
        try video.writeAll()
        try finish(file, video, audio, begun: journal?.start ?? .now, isCancelled)
        try journal?.remove()
        var report = report
        report.resumedFrames = journal.map { _ in video.resumedFrames }
        report.warnings = renderer.damage.sentences
        return report
    }

    /// The re-encoded frames of a range, by the number of the part in the plan. They are encoded before any frame is
    /// copied. If our encoder cannot continue the stream of the recordings, the job therefore throws at its beginning.
    private func pieces(_ isCancelled: () -> Bool) throws -> [Int: [EncodedPacket]] {
        guard range != nil else { return [:] }
        var pieces: [Int: [EncodedPacket]] = [:]
        for (number, part) in plan.parts.enumerated() {
            guard case .encoded(let clip, let frames) = part else { continue }
            let first = plan.clips[clip].frames.lowerBound
            pieces[number] = try PieceRender(sources[clip])?
                .render(first + frames.lowerBound..<first + frames.upperBound, isCancelled: isCancelled)
        }
        return pieces
    }

    /// The journal of an earlier run, or a new journal for a later run; nil if the request does not resume a run.
    private func journal() throws -> StitchJournal? {
        guard request.resumes else {
            // A stitching job that is not resumed removes the journal of an earlier run. The export of a range does
            // not: the journal can belong to a stitching job that can still be resumed.
            if range == nil { StitchJournal.discard(of: request.output) }
            return nil
        }
        var clips = request.clips
        for index in clips.indices { clips[index].origin = nil }
        var text = "\(request.version)\n\(clips)\n\(request.settings)\n\(plan)\n"
        for path in Set(sources.map(\.path)).sorted() {
            text += "\(path) \(try FileDescriptor.open(readOnly: path).version())\n"
        }
        guard let digest = SHA256() else { throw ClipFailure("There is no memory left.") }
        text.withUTF8 { digest.update(UnsafeRawBufferPointer($0)) }
        return try StitchJournal(of: request.output, job: digest.finish())
    }

    private func finish(
        _ file: ClipFile, _ video: VideoWriter, _ audio: AudioWriter?, begun: UTCTime, _ isCancelled: () -> Bool
    ) throws {
        let track = try audio?.finish()
        var layout = rangeLayout(hasAudio: track != nil) ?? layout(video, audio, begun: begun)
        let timescale = layout.tracks.first { $0.kind == .video }?.timescale ?? 1
        let (base, ticks) = (plan.audio?.timeBase ?? .milliseconds, TimeBase(1, Int32(clamping: timescale)))
        let moves = heard?.moves.map { base.rescale($0, to: ticks) } ?? []
        let frames = try video.track(timescale: timescale, moves: moves)
        let texts = try chapterTrack(in: file, like: frames, timescale: timescale)
        if texts != nil { layout.tracks.append(ChapterTrack.track(timescale: timescale)) }
        let movie = ClipMovie(video: frames, audio: track, chapters: texts, layout: layout)
        guard request.form == .fragmented else { return try file.finish(movie) }
        try file.finishInFragments(movie, video: frames, audio: track, isCancelled: isCancelled)
    }

    private func layout(_ video: VideoWriter, _ audio: AudioWriter?, begun: UTCTime) -> MovieLayout {
        var tags = MovieTags(
            channel: Self.name(of: request.output), start: begun, encoderSettings: "", version: request.version)
        tags.chapters = chapters
        var layout = MovieLayout(
            description: StreamDescription(video: video.description, audio: audio?.description),
            creationTime: tags.secondsSince1904, userData: tags.box, form: request.form)
        for index in layout.tracks.indices where layout.tracks[index].kind == .video {
            layout.tracks[index].matrix = plan.orientation.matrix(plan.video.width, plan.video.height)
        }
        return layout
    }

    /// The clips of which some or all frames are copied.
    private var copiedClips: Set<Int> {
        Set(plan.parts.compactMap { if case .copied(let clip, _) = $0 { clip } else { nil } })
    }

    private var report: StitchReport {
        StitchReport(
            output: request.output,
            milliseconds: plan.video.frameRate.timeBase.rescale(Int64(plan.frameCount), to: .milliseconds),
            clips: plan.clips.count, copiedFrames: plan.copiedFrames,
            encodedFrames: plan.frameCount - plan.copiedFrames)
    }
}

extension StitchSource {
    /// The name of the file without its directory, because viewers of the result must not see the directory.
    fileprivate var fileName: String { name.split(separator: "/").last.map(String.init) ?? name }
}

extension ClipFailure {
    /// The failure of `source` as a sentence that contains the file's name but not its directory.
    fileprivate func text(of source: StitchSource) -> String {
        let text = description.hasSuffix(".") ? String(description.dropLast()) : description
        return text.replacing(source.name, with: source.fileName)
    }
}

// MARK: A range of recordings

extension StitchJob {
    /// The report of the range; nil for clips.
    package var rangeReport: ClipReport? {
        guard let range else { return nil }
        func milliseconds(_ ticks: Int64) -> Int64 {
            sources[0].video.timeBase.rescale(max(0, ticks), to: .milliseconds)
        }
        return ClipReport(
            start: start(of: range).extended,
            milliseconds: milliseconds(range.shown.upperBound - range.shown.lowerBound),
            widenedStart: milliseconds(range.wanted.lowerBound - range.shown.lowerBound),
            widenedEnd: milliseconds(range.shown.upperBound - range.wanted.upperBound),
            copiedFrames: plan.copiedFrames, encodedFrames: plan.frameCount - plan.copiedFrames, files: sources.count,
            gaps: range.gaps, audioOffset: audioOffset)
    }

    /// The time from the beginning of the first frame to the beginning of the audio, in nanoseconds; nil if the audio
    /// does not begin with a copied packet.
    package var audioOffset: Int64? {
        guard let heard, case .copied(let clip, let packets) = heard.spans.first else { return nil }
        return sources[clip].audioBase.rescale(
            sources[clip].packets[packets.lowerBound].pts + heard.clips[clip].shift, to: .nanoseconds)
    }

    /// The wall-clock time at which the first frame of `range` was on air.
    private func start(of range: RangePlan) -> UTCTime {
        let first = sources[0].video.timeBase.rescale(range.shown.lowerBound, to: .milliseconds)
        return UTCTime(milliseconds: sources[0].start + first)
    }

    /// The layout of the exported file, with the same tracks as the recordings; nil for clips.
    private func rangeLayout(hasAudio: Bool) -> MovieLayout? {
        guard let range, let recording = sources.first?.recording else { return nil }
        let tags = MovieTags(
            channel: recording.channel, start: start(of: range), encoderSettings: recording.encoderSettings,
            version: request.version)
        let tracks = recording.tracks.filter { $0.kind == .video || hasAudio }
        return MovieLayout(
            timescale: tracks.last?.timescale ?? 1, creationTime: tags.secondsSince1904, tracks: tracks,
            userData: tags.box)
    }
}

// MARK: Chapters

extension StitchJob {
    /// One chapter for each clip; empty for a single clip.
    private var chapters: [Chapter] {
        guard plan.clips.count > 1 else { return [] }
        return zip(plan.clips, request.clips).map { planned, clip in
            Chapter(
                start: Timestamp(Int64(planned.place), in: plan.video.frameRate.timeBase)
                    + move(of: planned.source),
                title: clip.title ?? Self.name(of: clip.path))
        }
    }

    /// A file's name without its directory and its extension.
    private static func name(of path: String) -> String {
        let name = path.split(separator: "/").last ?? ""
        let dot = name.lastIndex(of: ".") ?? name.endIndex
        return String(dot == name.startIndex ? name : name[..<dot])
    }

    /// Appends the chapters to `file` and returns them as samples of a track. Each chapter lasts until the next one,
    /// and the last chapter until the end of `frames`. Nil if there are no chapters, or if players do not support such
    /// a track in this kind of file.
    private func chapterTrack(in file: ClipFile, like frames: ClipTrack, timescale: UInt32) throws -> ClipTrack? {
        let chapters = self.chapters.prefix(Chapter.most)
        guard request.form == .mov, !chapters.isEmpty else { return nil }
        let ticks = TimeBase(1, Int32(clamping: timescale))
        var samples: [IndexedSample] = []
        for chapter in chapters {
            let text = SharedBytes(ChapterTrack.sample(chapter))
            let start = ticks.ticks(chapter.start - .zero)
            samples.append(
                IndexedSample(
                    dts: start, pts: start, duration: 1, offset: try file.append(text), size: Int64(text.count),
                    isSync: true))
        }
        let end = frames.samples.map { $0.pts + $0.duration }.max() ?? 0
        if let last = samples.indices.last { samples[last].duration = max(1, end - samples[last].pts) }
        return ClipTrack(samples: samples, start: 0)
    }
}
