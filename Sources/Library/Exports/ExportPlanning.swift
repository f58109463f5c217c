// SPDX-License-Identifier: Apache-2.0

internal import Archive
package import Media
internal import Stitcher
internal import Synchronization

/// Computes how many frames would be re-encoded if several clips were exported as one file. It reads the clips' files,
/// but writes nothing. Any thread may call it.
package final class ExportPlanning: Sendable {
    private static let patience = Duration.seconds(5)

    private let isBusy = Atomic(false)

    package init() {}

    /// Plans an export. Throws `unavailable` while another request is being planned, or if the clips' files cannot be
    /// read now or within 5 s, and `conflict` if the export is not possible. Blocks on the disk.
    package func plan(_ request: ExportRequest, in archive: ChannelArchive) throws(Refusal) -> ExportPlan {
        guard !isBusy.exchange(true, ordering: .acquiring) else {
            throw Refusal(.unavailable, "Something else is being planned. Try again.")
        }
        defer { isBusy.store(false, ordering: .releasing) }
        guard request.stitched.allSatisfy({ $0.clip.isRecorded() }) else {
            throw Refusal(.unavailable, "The end of a clip is not on the disk yet. Try again later.")
        }
        do {
            return try look(request, in: archive)
        } catch let failure as ClipFailure {
            guard failure.isCancellation else { throw Refusal(.conflict, "\(failure)") }
            throw Refusal(.unavailable, "The files could not be looked at in time.")
        } catch {
            throw Refusal(.unavailable, "The files cannot be looked at: \(error)")
        }
    }

    private func look(_ request: ExportRequest, in archive: ChannelArchive) throws -> ExportPlan {
        guard let directory = try archive.directory() else { throw ClipFailure("Nothing was recorded yet.") }
        let stitching = ClipStitching(clips: request.stitched, archive: archive, directory: directory.path)
        let (pieces, notes) = try stitching.pieces()
        let clock = SystemClock()
        let deadline = clock.now + Self.patience
        let job = try StitchJob(
            StitchRequest(
                clips: pieces, settings: StitchSettings(), output: "", replaces: false, version: RelayVersion.text),
            isCancelled: { clock.now > deadline })
        let (plan, copied) = (job.plan, job.plan.copiedFrames)
        var reasons: [String] = []
        for reason in plan.clips.flatMap(\.reasons) where !reasons.contains(reason) { reasons.append(reason) }
        return ExportPlan(
            copiedFrames: copied, encodedFrames: max(0, plan.frameCount - copied), reasons: reasons,
            notes: notes + job.notes)
    }
}
