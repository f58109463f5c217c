// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Catalogue
package import Media
internal import Segmenter
internal import Stitcher
internal import Synchronization

/// The clips as exported files and as run-downs.
extension ClipStore {
    /// Creates the request to export the clip `id`, with one more frame at each end if `hasHandles` is true.
    package func export(_ id: String, hasHandles: Bool) throws(Refusal) -> ExportRequest {
        let row = try ended(id)
        let handle = hasHandles ? CatalogueClip.handle : 0
        var request = ExportRequest(channel: archive.name, range: row.clock, name: row.name, isExact: nil)
        request.clip = export(
            row, max(0, row.clip.first - handle)..<row.lastEnd + handle,
            finished: { self.exported(id, hasHandles ? nil : $0) })
        return request
    }

    /// Creates the request to export the clips of `parts`, one after the other, as one file.
    package func stitch(_ parts: [ClipPart]) throws(Refusal) -> ExportRequest {
        var stitched: [StitchedClip] = []
        var range: Range<Int64>?
        for part in parts {
            let (row, frames) = try taken(part)
            let clip = export(row, frames) { _ in if !part.isHeldOn { self.exported(part.id, nil) } }
            stitched.append(StitchedClip(clip, title: row.name, part))
            let clock = row.clock
            range = min(range?.lowerBound ?? .max, clock.lowerBound)..<max(range?.upperBound ?? 0, clock.upperBound)
        }
        guard let range else { throw Refusal(.unusable, "clips names at least one clip.") }
        var request = ExportRequest(channel: archive.name, range: range, name: nil, isExact: nil)
        request.stitched = stitched
        request.isTrial = parts.allSatisfy(\.isHeldOn)
        return request
    }

    /// The clip that `part` names, and the range of its frames that `part` requests.
    private func taken(_ part: ClipPart) throws(Refusal) -> (row: CatalogueClip, frames: Range<Int64>) {
        let row = try ended(part.id)
        let (first, end) = (row.clip.first + part.skipped.start, row.lastEnd - part.skipped.end)
        guard first < end else {
            throw Refusal(
                .unusable, "Nothing is left of the clip \(part.id), which has \(row.lastEnd - row.clip.first) frames.")
        }
        return (row, first..<end)
    }

    /// The clip `id`. Throws if the clip does not exist, if it is still running, or if nothing of it is recorded.
    private func ended(_ id: String) throws(Refusal) -> CatalogueClip {
        let shown = try clip(id)
        guard shown.state != .running else { throw Refusal(.conflict, "The clip is running: end it before.") }
        guard let row = row(id) else { throw Self.unknown }
        guard row.lastEnd > row.clip.first else { throw Refusal(.conflict, "Nothing of the clip is recorded.") }
        return row
    }

    private func export(
        _ row: CatalogueClip, _ frames: Range<Int64>, finished: @escaping @Sendable (Int64?) -> Void
    ) -> ClipExport {
        ClipExport(
            run: row.clip.run, times: row.time(of: frames.lowerBound)..<row.time(of: frames.upperBound),
            frameDuration: row.frameDuration, isRecorded: { self.isComplete(row.id) }, finished: finished)
    }

    /// Records that the job `job` exports the clip `id`. Returns at once.
    package func exporting(_ id: String, job: String) { state.withLock { $0.facts[id]?.job = job } }

    private func isComplete(_ id: String) -> Bool {
        _ = try? look()
        return state.withLock { $0.machine.clip(id)?.isComplete ?? true }
    }

    private func exported(_ id: String, _ audioOffset: Int64?) {
        state.withLock { state in
            state.facts[id]?.released = UTCTime.now.milliseconds
            if let audioOffset { state.facts[id]?.audioOffset = audioOffset }
            writer.note(state.row(id, channel: archive.channel))
        }
    }

    func row(_ id: String) -> CatalogueClip? { state.withLock { $0.row(id, channel: archive.channel) } }

    /// The clips as a run-down, with the files that contain them.
    package func project() throws(Refusal) -> String {
        try load()
        try look()
        let rows = state.withLock { state in
            state.machine.clips.compactMap { state.row($0.id, channel: archive.channel) }
        }.sorted { ($0.start, $0.id) < ($1.start, $1.id) }
        let files = try archive.files(ofRuns: Set(rows.map(\.clip.run)))
        return ClipProject(channel: archive.name, fit: try fitting()).text(rows, files: files)
    }

    /// The clips of `parts` as a run-down, in their order.
    package func project(_ parts: [ClipPart]) throws(Refusal) -> String {
        var items: [ClipProject.Item] = []
        for part in parts {
            let (row, frames) = try taken(part)
            var item = ClipProject.Item(row)
            item.times = row.time(of: frames.lowerBound)..<row.time(of: frames.upperBound)
            (item.transition, item.audioOffset) = (items.isEmpty ? nil : part.transition, part.audioOffset)
            items.append(item)
        }
        let files = try archive.files(ofRuns: Set(items.map(\.clip.clip.run)))
        return ClipProject(channel: archive.name, fit: try fitting()).text(items, in: "their order", files: files)
    }

    /// Returns a closure that aligns pieces of a run-down with the frames of their files. A file is read once if its
    /// pieces come one after the other.
    private func fitting() throws(Refusal) -> (ClipProject.Piece) -> ClipProject.Piece {
        guard let directory = try archive.directory() else { return { $0 } }
        var last: (name: String, index: SegmentIndex?) = ("", nil)
        return { piece in
            if last.name != piece.opened {
                last = (piece.opened, try? SegmentIndex.read("\(directory.path)/\(piece.opened)"))
            }
            return last.index.map(piece.fitted) ?? piece
        }
    }
}

extension CatalogueClip {
    /// The length of a frame.
    var frameDuration: Duration { rate.timeBase.duration(1) }

    /// The number of the frame after the clip's last frame. As long as the clip has not been ended, it is the number of
    /// the clip's first frame.
    fileprivate var lastEnd: Int64 { max(clip.first, clip.end ?? clip.first) }

    /// When the clip was on air: milliseconds since 1970.
    fileprivate var clock: Range<Int64> {
        start..<start + max(1, rate.timeBase.duration(lastEnd - clip.first).inMilliseconds)
    }
}
