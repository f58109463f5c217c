// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Catalogue
internal import Dispatch
internal import Media
internal import Stitcher
internal import Synchronization

/// The properties of clips that only their files contain.
extension ClipStore {
    /// Measures, in the background and one after the other, where the audio of the complete clips `ids` begins.
    func measureLater(_ ids: [String]) {
        guard !ids.isEmpty else { return }
        measuring.async { [self] in ids.forEach(measure) }
    }

    private func measure(_ id: String) {
        // If this fails, an export will report the error.
        guard let row = row(id), row.audioOffset == nil, let offset = try? audioOffset(of: row) else { return }
        state.withLock { state in
            guard state.facts[id] != nil else { return }
            state.facts[id]?.audioOffset = offset
            writer.note(state.row(id, channel: archive.channel))
        }
    }

    /// The beginning of the audio relative to the first frame, in nanoseconds, in an exported file with exactly the
    /// frames of `row`; nil without audio.
    private func audioOffset(of row: CatalogueClip) throws -> Int64? {
        guard let times = row.times, !times.isEmpty, let directory = try archive.directory() else { return nil }
        let clip = ClipExport(
            run: row.clip.run, times: times, frameDuration: row.time(of: 1), isRecorded: { true }, finished: { _ in })
        let chosen = try clip.selection(try archive.files(ofRun: clip.run), in: directory.path)
        let range = RecordedRange(files: chosen.files, range: chosen.range, program: times)
        let request = StitchRequest(output: "", replaces: false, version: RelayVersion.text)
        return try StitchJob(range, request, isCancelled: { false }).audioOffset
    }

    /// Returns a closure that aligns pieces of a project with the frames of their files. A file is read once if its
    /// pieces come one after the other.
    func fitting() throws(Refusal) -> (ClipProject.Piece) -> ClipProject.Piece {
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
