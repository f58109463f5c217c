// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import MP4
internal import Media

/// What is to be exported.
package struct ClipRequest: Sendable {
    /// The recordings that meet the range, in the order of time: paths, and names for sentences about them.
    package var files: [(path: String, name: String)]
    /// When it begins and ends: milliseconds since 1970-01-01T00:00:00Z.
    package var range: Range<Int64>
    /// Whether frames at the ends are coded again so that the clip is no longer than asked for.
    package var isExact: Bool
    /// The file to make.
    package var output: String
    /// Whether it may replace what has that name.
    package var replaces: Bool
    /// The program's version, for the tags.
    package var version: String
    /// Bytes of the disk that stay free.
    package var reserve: Int64 = 0
    /// Program times in nanoseconds, where what is wanted is the frames that begin in them.
    package var program: Range<Int64>?

    /// A request of these properties.
    package init(
        files: [(path: String, name: String)], range: Range<Int64>, isExact: Bool, output: String, replaces: Bool,
        version: String
    ) {
        (self.files, self.range, self.isExact) = (files, range, isExact)
        (self.output, self.replaces, self.version) = (output, replaces, version)
    }
}

/// What came of an export.
package struct ClipReport: Sendable, Codable, Equatable {
    /// When the first frame was on air.
    package var start: String
    /// How long the clip lasts, in milliseconds.
    package var milliseconds: Int64
    /// By how many milliseconds it begins earlier and ends later than was asked for.
    package var widenedStart: Int64
    package var widenedEnd: Int64
    /// Frames that are as they were recorded, and frames that were coded again.
    package var copiedFrames: Int
    package var encodedFrames: Int
    /// Files that it is made of.
    package var files: Int
    /// What of the range no file holds. The last frame before a gap stays, without audio.
    package var gaps: [ClipGap]
    /// The file that is being written now, if the range reaches into it: it is not in the clip.
    package var beingWritten: String?
    /// Where the first packet of audio begins, from the first frame on, in nanoseconds; nil without audio.
    package var audioOffset: Int64?

    enum CodingKeys: String, CodingKey {
        case start, milliseconds, files, gaps
        case widenedStart = "widened_start_ms"
        case widenedEnd = "widened_end_ms"
        case copiedFrames = "copied_frames"
        case encodedFrames = "encoded_frames"
        case beingWritten = "being_written"
        case audioOffset = "audio_offset_ns"
    }
}

extension ClipFailure {
    /// Somebody wanted it to end.
    package static let cancelled = ClipFailure("The export was cancelled; nothing is left of it.")
}

/// Makes one MP4 of pieces of recordings: copies whole runs of bytes, and writes new tables for them.
package struct ClipExporter {
    let request: ClipRequest
    let indexes: [SegmentIndex]
    let sources: [ClipSource]
    let plan: ClipPlan
    /// The pieces that were coded again, by their places among the plan's parts.
    var pieces: [Int: [EncodedPacket]] = [:]

    /// Largest copy between two looks at whether to end.
    private static let step: Int64 = 32 << 20

    /// Reads the files of `request` and plans. Blocks on the disk.
    package init(_ request: ClipRequest) throws {
        var request = request
        var (files, indexes): ([(path: String, name: String)], [SegmentIndex]) = ([], [])
        for file in request.files {
            do throws(SegmentReadFailure) {
                let index = try SegmentIndex.read(file.path)
                if let program = request.program, !ClipSource(name: file.name, index).hasFrame(within: program) {
                    continue
                }
                files.append(file)
                indexes.append(index)
            } catch {
                throw ClipFailure("\(file.name) cannot be used: \(error).")
            }
        }
        request.files = files
        self.request = request
        self.indexes = indexes
        for (file, index) in zip(request.files, indexes) {
            if let difference = indexes.first.flatMap({ index.difference(from: $0) }) {
                var failure = ClipFailure(
                    "\(file.name) does not go with \(request.files[0].name): it has \(difference).")
                failure.isDifference = true
                throw failure
            }
        }
        sources = ClipSource.joined(zip(request.files, indexes).map { ClipSource(name: $0.name, $1) })
        plan = try ClipPlan(
            sources, from: request.range.lowerBound, to: request.range.upperBound, isExact: request.isExact,
            program: request.program)
    }

    /// Makes the file. `progress` is told bytes; `isCancelled` is asked often.
    package mutating func run(
        progress: (_ done: Int64, _ total: Int64) -> Void, isCancelled: () -> Bool
    ) throws -> ClipReport {
        let runs = self.runs
        let total = runs.joined().reduce(Int64(0)) { $0 + Int64($1.bytes.count) }
        try checkSpace(total)
        let clip = try ClipFile(request.output, replaces: request.replaces)
        for (number, part) in plan.parts.enumerated() {
            guard case .encoded(let source, let samples) = part else { continue }
            progress(0, max(1, total))
            let render = PieceRender(name: request.files[source].name, index: indexes[source])
            let times = samples.map { sources[source].video[$0].pts }
            pieces[number] = try render.render(times, isCancelled: isCancelled)
        }
        var builder = ClipBuilder(sources: sources, plan: plan)
        if case .encoded = plan.parts.first { try append(0, to: clip, &builder) }
        var done: Int64 = 0
        for (source, runs) in runs.enumerated() {
            for run in runs {
                let place = try copy(run.bytes, of: source, to: clip, isCancelled: isCancelled) {
                    done += $0
                    progress(done, total)
                }
                builder.append(run, of: source, at: place)
            }
        }
        if plan.parts.count > 1, case .encoded = plan.parts.last {
            try append(plan.parts.count - 1, to: clip, &builder)
        }
        if isCancelled() { throw ClipFailure.cancelled }
        let tracks = builder.tracks()
        try clip.finish(
            video: tracks.video, audio: tracks.audio, like: indexes[0], start: UTCTime(milliseconds: start),
            version: request.version)
        return report
    }

    /// Copies `bytes` of a source, and returns where they lie in the clip. `copied` is told of each step.
    private func copy(
        _ bytes: Range<Int64>, of source: Int, to clip: ClipFile, isCancelled: () -> Bool, copied: (Int64) -> Void
    ) throws -> Int64 {
        var position = bytes.lowerBound
        var place: Int64?
        while position < bytes.upperBound {
            if isCancelled() { throw ClipFailure.cancelled }
            let end = min(position + Self.step, bytes.upperBound)
            let offset = try clip.copy(position..<end, of: indexes[source])
            place = place ?? offset
            copied(end - position)
            position = end
        }
        return place ?? 0
    }

    /// When the first frame was on air.
    private var start: Int64 {
        sources[0].start + sources[0].videoBase.rescale(plan.frames.lowerBound, to: .milliseconds)
    }

    private var runs: [[CopyRuns.Run]] {
        sources.indices.map { index in
            var frames = 0..<0
            for case .copied(let source, let range) in plan.parts where source == index { frames = range }
            return CopyRuns(sources[index], frames: frames, audio: plan.audio[index]).runs
        }
    }

    private func append(_ number: Int, to clip: ClipFile, _ builder: inout ClipBuilder) throws(FileFailure) {
        guard case .encoded(let source, let samples) = plan.parts[number] else { return }
        for packet in pieces[number] ?? [] {
            let offset = try clip.append(packet.payload)
            builder.append(packet, of: source, shownAs: samples[Int(packet.pts)], at: offset)
        }
    }

    private func checkSpace(_ bytes: Int64) throws(FileFailure) {
        let frames = sources.reduce(0) { $0 + $1.video.count + $1.audio.count }
        // Tables, and pieces that are coded again.
        let needed = bytes + Int64(frames) * 32 + (request.isExact ? 16 << 20 : 1 << 20) + request.reserve
        try FinishedFile.checkRoom(for: needed, at: request.output, "it needs")
    }

    private var report: ClipReport {
        let base = sources[0].videoBase
        func milliseconds(_ ticks: Int64) -> Int64 { base.rescale(max(0, ticks), to: .milliseconds) }
        var (copied, encoded) = (0, 0)
        for part in plan.parts {
            switch part {
            case .copied(_, let range): copied += range.count
            case .encoded(_, let samples): encoded += samples.count
            }
        }
        return ClipReport(
            start: UTCTime(milliseconds: start).extended,
            milliseconds: milliseconds(plan.frames.upperBound - plan.frames.lowerBound),
            widenedStart: milliseconds(plan.wanted.lowerBound - plan.frames.lowerBound),
            widenedEnd: milliseconds(plan.frames.upperBound - plan.wanted.upperBound), copiedFrames: copied,
            encodedFrames: encoded - plan.hidden, files: sources.count, gaps: plan.gaps, audioOffset: audioOffset)
    }

    /// Where the audio begins, in nanoseconds from the first frame on; nil without any.
    package var audioOffset: Int64? {
        guard let index = plan.audio.firstIndex(where: { !$0.isEmpty }) else { return nil }
        let source = sources[index]
        let begin = plan.places[index].audio + source.audio[plan.audio[index].lowerBound].pts
        let first = sources[0].videoBase.rescale(plan.frames.lowerBound, to: source.audioBase)
        return source.audioBase.rescale(begin - first, to: .nanoseconds)
    }
}

extension SegmentIndex {
    /// What of this file a player could not take for a part of `other`; nil if there is nothing.
    func difference(from other: SegmentIndex) -> String? {
        if video.size != other.video.size { return "another frame size" }
        if video.timescale != other.video.timescale
            || facts.leading.sampleDuration != other.facts.leading.sampleDuration
        {
            return "another frame rate"
        }
        if (audio == nil) != (other.audio == nil) { return audio == nil ? "no audio" : "audio" }
        if audio?.timescale != other.audio?.timescale { return "another sample rate" }
        if video.coding != other.video.coding { return "other parameter sets of the video" }
        return audio?.coding != other.audio?.coding ? "another coding of the audio" : nil
    }
}
