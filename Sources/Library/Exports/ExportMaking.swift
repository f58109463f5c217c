// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Catalogue
internal import Encoder
internal import Glibc
internal import Media
internal import Networking
internal import Stitcher

/// Makes the file that one export asks for: copies what relay encoded, and stitches what that is not possible for.
/// Used by one thread.
struct ExportMaking: Sendable {
    let request: ExportRequest
    let archive: ChannelArchive
    let directory: RecordDirectory
    /// The file to make.
    let output: String
    /// Bytes of the disk that stay free.
    let reserve: Int64
    let progress: @Sendable (_ done: Int64, _ total: Int64) -> Void
    /// Called often, by any thread.
    let isCancelled: @Sendable () -> Bool

    /// How many times to check whether a clip is recorded, and the microseconds between two checks.
    private static let looks = (count: 300, pause: UInt32(50_000))
    /// How much of a clip may be coded again without a request for it.
    private static let mostEncoded = Duration.seconds(4)
    /// The program's threads, which have the usual priority, come first.
    private static let niceness: CInt = 10

    /// Makes the file. A recording that is closed meanwhile gets another name: then the files to take are chosen again,
    /// once.
    func make() throws -> ExportResult {
        for clip in [request.clip].compactMap(\.self) + request.stitched.map(\.clip) { try waitUntilRecorded(clip) }
        var chosen: Choice?
        do {
            let first = try choice()
            chosen = first
            return try make(of: first)
        } catch let failure as ClipFailure where failure.isCancellation {
            throw failure
        } catch {
            let renewed = try choice()
            guard renewed.files.map(\.path) != chosen?.files.map(\.path) else { throw error }
            return try make(of: renewed)
        }
    }

    private func make(of chosen: Choice) throws -> ExportResult {
        if chosen.isForStitching {
            guard request.isExact != false || !request.stitched.isEmpty else {
                throw ClipFailure("MPEG-TS is coded again for a clip, and that is not wanted.")
            }
            return try stitch(chosen)
        }
        do {
            return try copy(chosen, isExact: request.isExact ?? true)
        } catch let failure as ClipFailure where failure.isDifference && request.isExact != false {
            return try stitch(chosen)
        } catch let error as EncoderError where request.isExact == nil {
            return try stitchCheaply(chosen, because: error)
        } catch is EncoderError where request.isExact == true {
            // Our encoder cannot continue a stream of another encoder; stitching adds parameter sets of its own.
            return try stitch(chosen)
        }
    }

    private func copy(_ chosen: Choice, isExact: Bool) throws -> ExportResult {
        var request = ClipRequest(
            files: chosen.files, range: chosen.range, isExact: isExact, output: output, replaces: false,
            version: RelayVersion.text)
        (request.reserve, request.program) = (reserve, self.request.clip?.times)
        var exporter = try ClipExporter(request)
        var report = try exporter.run(progress: progress, isCancelled: isCancelled)
        if let clip = self.request.clip {
            clip.tell(&report)
            clip.finished(report.audioOffset)
        }
        return ExportResult(report, isExact: isExact, bytes: try size)
    }

    private var size: Int64 { get throws { try FileDescriptor.open(readOnly: output).size() } }
}

// MARK: Stitching

extension ExportMaking {
    /// What others encoded, of which frames at the ends have to be coded again: it is stitched if the rest is copied;
    /// coding all of it again is for those who ask for it. Otherwise, or if that fails, it is longer than was asked for.
    private func stitchCheaply(_ chosen: Choice, because error: EncoderError) throws -> ExportResult {
        var reason = "\(error)"
        do {
            if let made = try stitch(chosen, isCopying: true) { return made }
        } catch let failure as ClipFailure where failure.isCancellation {
            throw failure
        } catch {
            reason = "\(error)"
        }
        var made = try copy(chosen, isExact: false)
        made.notes.append("its ends are not exact: \(reason)")
        return made
    }

    /// Makes one file of pieces, coded again where they differ.
    private func stitch(_ chosen: Choice) throws -> ExportResult {
        guard let made = try stitch(chosen, isCopying: false) else { throw ClipFailure("Nothing was made.") }
        return made
    }

    /// The same; nil, and nothing is made, if a clip were to be coded again as a whole although `isCopying`.
    private func stitch(_ chosen: Choice, isCopying: Bool) throws -> ExportResult? {
        var stitching = StitchRequest(
            clips: try chosen.pieces(), settings: StitchSettings(), output: output, replaces: false,
            version: RelayVersion.text)
        stitching.reserve = reserve
        guard let (report, notes, hasAudio) = try run(stitching, isCopying: isCopying) else { return nil }
        request.clip?.finished(hasAudio ? 0 : nil)
        for clip in request.stitched { clip.clip.finished(nil) }
        return ExportResult(report, notes: chosen.notes + notes, bytes: try size)
    }

    /// Whether little enough is coded again: in ends of a few seconds, or less than what is copied.
    private static func copies(_ plan: StitchPlan) -> Bool {
        let encoded = Int64(plan.frameCount - plan.copiedFrames)
        return plan.clips.allSatisfy(\.reasons.isEmpty)
            && (encoded <= plan.copiedFrames || encoded <= plan.video.frameRate.frames(atLeast: mostEncoded))
    }

    /// Runs on a thread of its own and of low priority, which x264's threads inherit.
    private func run(
        _ stitching: StitchRequest, isCopying: Bool
    ) throws -> (report: StitchReport, notes: [String], hasAudio: Bool)? {
        let answer = Answer<Result<(StitchReport, [String], Bool)?, any Error>>()
        MediaThread.start("relay.exports") {
            _ = nice(Self.niceness)
            answer.give(
                Result {
                    let job = try StitchJob(stitching, isCancelled: isCancelled)
                    guard !isCopying || Self.copies(job.plan) else { return nil }
                    let report = try job.run(
                        progress: { progress(Int64($0), Int64($1)) }, isCancelled: isCancelled)
                    return (report, job.notes + report.warnings, job.plan.audio != nil)
                })
        }
        return try answer.wait().get()
    }
}

// MARK: What it is made of

extension ExportMaking {
    /// What an export is made of.
    private struct Choice {
        var files: [(path: String, name: String)]
        /// Milliseconds since 1970, by the files' own dates.
        var range: Range<Int64>
        /// Whether it is several clips, or MPEG-TS, which is not copied into MP4.
        var isForStitching = false
        /// What a reader of the stitched file should know.
        var notes: [String] = []
        /// The same for stitching.
        var pieces: () throws -> [StitchClip]
    }

    private func choice() throws -> Choice {
        guard request.stitched.isEmpty else { return try stitchedChoice() }
        guard let clip = request.clip else {
            let segments = try RecordingArchive(directory.path).contents().segments
            let selection = try ExportSelection(
                segments, in: directory.path, channel: archive.channel, range: request.range, includesOpen: true)
            return Choice(
                files: selection.files, range: selection.range, isForStitching: selection.hasStreams,
                notes: selection.notes
            ) { selection.pieces }
        }
        let files = try archive.files(ofRun: clip.run)
        let (chosen, range) = try clip.selection(files, in: directory.path)
        return Choice(files: chosen, range: range, notes: ClipStitching.notes(of: clip, files)) {
            ClipStitching.pieces(of: StitchedClip(clip), files, in: directory.path)
        }
    }

    private func stitchedChoice() throws -> Choice {
        let stitching = ClipStitching(clips: request.stitched, archive: archive, directory: directory.path)
        let (pieces, notes) = try stitching.pieces()
        return Choice(
            files: pieces.map { ($0.path, $0.title ?? "") }, range: request.range, isForStitching: true, notes: notes
        ) { pieces }
    }

    /// Waits for the last frames of a clip that was just ended to be on the disk.
    private func waitUntilRecorded(_ clip: ClipExport) throws(ClipFailure) {
        for _ in 0..<Self.looks.count {
            if clip.isRecorded() { return }
            if isCancelled() { throw .cancelled }
            usleep(Self.looks.pause)
        }
        throw ClipFailure("The end of the clip is not on the disk yet. Try again later.")
    }
}

/// What came of an export.
struct ExportResult {
    var milliseconds: Int64
    let bytes: Int64
    var (copiedFrames, encodedFrames): (Int, Int)
    /// Whether it begins and ends with the very frames.
    let isExact: Bool
    /// What a reader of the file should know.
    var notes: [String] = []

    init(_ report: ClipReport, isExact: Bool, bytes: Int64) {
        (milliseconds, self.isExact, self.bytes) = (report.milliseconds, isExact, bytes)
        (copiedFrames, encodedFrames) = (report.copiedFrames, report.encodedFrames)
        notes = report.gaps.map { "nothing was recorded from \($0.from) to \($0.to)" }
        if report.widenedStart > 0 { notes.append("it begins \(report.widenedStart) ms earlier than asked for") }
        if report.widenedEnd > 0 { notes.append("it ends \(report.widenedEnd) ms later than asked for") }
    }

    init(_ report: StitchReport, notes: [String], bytes: Int64) {
        (milliseconds, isExact, self.notes, self.bytes) = (report.milliseconds, true, notes, bytes)
        (copiedFrames, encodedFrames) = (report.copiedFrames, report.encodedFrames)
    }
}
