// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Catalogue
internal import Glibc
internal import Media
internal import Networking
internal import Stitcher

/// Makes the file of one export for the API, from files that may still be growing. Only one thread at a time uses it.
struct ExportMaking: Sendable {
    let request: ExportRequest
    let archive: ChannelArchive
    let directory: RecordDirectory
    /// The path of the file to make.
    let output: String
    /// The number of bytes that must stay free on the disk.
    let reserve: Int64
    let progress: @Sendable (_ done: Int64, _ total: Int64) -> Void
    /// Whether the export was cancelled. Any thread may call it, and often.
    let isCancelled: @Sendable () -> Bool

    /// The maximum number of checks whether a clip is recorded, and the microseconds between two checks.
    private static let looks = (count: 300, pause: UInt32(50_000))
    /// The nice value of the export's threads. Their priority is lower than that of the program's threads, which have
    /// nice 0.
    private static let niceness: CInt = 10

    /// Makes the file on a thread of low priority, and waits for it. x264's threads inherit the priority.
    func make() throws -> ExportResult {
        for clip in [request.clip].compactMap(\.self) + request.stitched.map(\.clip) { try waitUntilRecorded(clip) }
        let answer = Answer<Result<ExportResult, any Error>>()
        MediaThread.start("relay.exports") {
            _ = nice(Self.niceness)
            answer.give(Result { try makeOnce() })
        }
        var result = try answer.wait().get()
        if case .copied(var report) = result.report, let clip = request.clip {
            clip.tell(&report)
            result.report = .copied(report)
        }
        request.clip?.finished(result.audioOffset)
        for clip in request.stitched { clip.clip.finished(nil) }
        return result
    }

    /// Makes the file. The name of a recording changes when the recording is closed. If that happens meanwhile, the
    /// files are selected again, once.
    private func makeOnce() throws -> ExportResult {
        var paths: [String]?
        do {
            let first = try contents()
            paths = first.paths
            return try make(of: first)
        } catch let failure as ClipFailure where failure.isCancellation {
            throw failure
        } catch {
            let renewed = try contents()
            guard renewed.paths != paths else { throw error }
            return try make(of: renewed)
        }
    }

    private func make(of contents: ExportContents) throws -> ExportResult {
        var stitching = StitchRequest(output: output, replaces: false, version: RelayVersion.text)
        stitching.reserve = reserve
        let ends: ExportEnds = request.isExact.map { $0 ? .exact : .copied } ?? .cheap
        return try contents.make(ends, stitching, progress: progress, isCancelled: isCancelled)
    }

    private func contents() throws -> ExportContents {
        guard request.stitched.isEmpty else {
            let stitching = ClipStitching(clips: request.stitched, archive: archive, directory: directory.path)
            let (pieces, notes) = try stitching.pieces()
            return ExportContents(clips: pieces, notes: notes)
        }
        guard let clip = request.clip else {
            let contents = try RecordingArchive(directory.path)
                .catalogued(filling: [request.range], of: archive.channel)
            return ExportContents(
                try ExportSelection(
                    contents.segments, in: directory.path, channel: archive.channel, range: request.range,
                    includesOpen: true))
        }
        let files = try archive.files(ofRun: clip.run)
        let (chosen, range) = try clip.selection(files, in: directory.path)
        return ExportContents(
            recorded: RecordedRange(files: chosen, range: range, program: clip.times),
            clips: ClipStitching.pieces(of: StitchedClip(clip), files, in: directory.path),
            notes: ClipStitching.notes(of: clip, files))
    }

    /// Waits until the last frames of a clip that was just ended are on the disk. Throws if they are not after 15 s.
    private func waitUntilRecorded(_ clip: ClipExport) throws(ClipFailure) {
        for _ in 0..<Self.looks.count {
            if clip.isRecorded() { return }
            if isCancelled() { throw .cancelled }
            usleep(Self.looks.pause)
        }
        throw ClipFailure("The end of the clip is not on the disk yet. Try again later.")
    }
}
