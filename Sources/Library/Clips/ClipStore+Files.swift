// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Catalogue
internal import Dispatch
internal import Media
internal import Stitcher
internal import Synchronization

/// What only the files of clips can tell.
extension ClipStore {
    /// Finds out where the audio of the clips `ids` begins, which are complete: in the background, one after the other.
    func measureLater(_ ids: [String]) {
        guard !ids.isEmpty else { return }
        measuring.async { [self] in ids.forEach(measure) }
    }

    private func measure(_ id: String) {
        // An export reports whatever fails here.
        guard let row = row(id), row.audioOffset == nil, let offset = try? audioOffset(of: row) else { return }
        state.withLock { state in
            guard state.facts[id] != nil else { return }
            state.facts[id]?.audioOffset = offset
            writer.note(state.row(id, channel: archive.channel))
        }
    }

    /// Where the audio of a file that has the frames of `row` and no more begins, from its first frame on, in nanoseconds; nil
    /// if it has none.
    private func audioOffset(of row: CatalogueClip) throws -> Int64? {
        guard let times = row.times, !times.isEmpty, let directory = try archive.directory() else { return nil }
        let clip = ClipExport(
            run: row.clip.run, times: times, frameDuration: row.time(of: 1), isRecorded: { true }, finished: { _ in })
        let chosen = try clip.selection(try archive.files(ofRun: clip.run), in: directory.path)
        let range = RecordedRange(files: chosen.files, range: chosen.range, program: times)
        let request = StitchRequest(output: "", replaces: false, version: RelayVersion.text)
        return try StitchJob(range, request, isCancelled: { false }).audioOffset
    }

    /// Puts pieces of a project on the frames of their files, which it reads: once each, where they come file by file.
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
