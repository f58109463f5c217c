// SPDX-License-Identifier: Apache-2.0

internal import Encoder
internal import Media
package import Stitcher

/// How much may be re-encoded so that an export begins and ends with the requested frames.
package enum ExportEnds: Sendable, CaseIterable {
    /// Nothing may be re-encoded, even if the export is then longer or impossible.
    case copied
    /// Nothing may be re-encoded, unless the files cannot be joined in any other way.
    case widened
    /// A few frames may be re-encoded. If more would be necessary, the export is longer than requested.
    case cheap
    /// As much may be re-encoded as is necessary.
    case exact
}

/// A way to make an export. Copying comes first. It may include re-encoding of frames at the ends with the settings of
/// the recording's own encoder. Stitching, which re-encodes more, is tried if copying is not possible.
package enum ExportRung: Equatable, Sendable {
    /// Recordings are copied. If `isExact` is true, frames at the ends are re-encoded with the parameter sets of the
    /// recording.
    case copy(isExact: Bool)
    /// Files are stitched. If `isCheap` is true, this is done only if little must be re-encoded.
    case stitch(isCheap: Bool)

    /// The reason why one way to make the export is not possible.
    package enum Obstacle: Equatable, Sendable {
        /// The recordings do not have the same coding.
        case difference
        /// Another encoder made the recordings, and this process's encoder cannot continue their streams.
        case encoder
        /// More would be re-encoded than is allowed, or stitching failed.
        case cost
    }

    /// The way that is tried first for `contents`.
    package static func first(for contents: ExportContents, _ ends: ExportEnds) throws(ClipFailure) -> ExportRung {
        guard contents.recorded == nil else { return .copy(isExact: ends == .cheap || ends == .exact) }
        guard ends != .copied || !contents.isStream else {
            throw ClipFailure("MPEG-TS is coded again for a clip, and that is not wanted.")
        }
        return .stitch(isCheap: false)
    }

    /// The way to try after this one failed because of `obstacle`; nil if no other way is left.
    package func next(after obstacle: Obstacle, _ ends: ExportEnds) -> ExportRung? {
        switch (self, obstacle) {
        case (.copy, .difference): ends == .copied ? nil : .stitch(isCheap: false)
        case (.copy(isExact: true), .encoder): .stitch(isCheap: ends == .cheap)
        case (.stitch(isCheap: true), _): .copy(isExact: false)
        default: nil
        }
    }

    /// The obstacle that made this way fail with `error`; nil if no other way would avoid the error.
    fileprivate func obstacle(_ error: any Error) -> Obstacle? {
        switch (self, error) {
        case (_, let failure as ClipFailure) where failure.isCancellation: nil
        case (.stitch(let isCheap), _): isCheap ? .cost : nil
        case (.copy, let failure as ClipFailure): failure.isDifference ? .difference : nil
        case (.copy, is EncoderError): .encoder
        default: nil
        }
    }
}

extension ExportContents {
    /// The duration of the video that an export may re-encode with ``ExportEnds/cheap`` even if less is copied.
    private static let mostEncoded = Duration.seconds(4)

    /// Makes the requested file in the first way that is possible. When one way fails, `stepped` is called with the
    /// obstacle and the error before the next way is tried. Blocks on the disk. `isCancelled` is called often, by the
    /// same thread. A file that could not be completed is removed.
    package func make(
        _ ends: ExportEnds, _ request: StitchRequest, progress: @escaping (_ done: Int64, _ total: Int64) -> Void,
        isCancelled: @escaping () -> Bool, stepped: (ExportRung.Obstacle, any Error) -> Void = { _, _ in }
    ) throws -> ExportResult {
        var rung = try ExportRung.first(for: self, ends)
        var reason = ""
        while true {
            do {
                var result = try make(rung, request, progress, isCancelled)
                if rung == .copy(isExact: false), !reason.isEmpty {
                    result.notes.append("its ends are not exact: \(reason)")
                }
                return result
            } catch {
                guard let obstacle = rung.obstacle(error), let next = rung.next(after: obstacle, ends) else {
                    throw error
                }
                // ``ExportCost`` only says that too much would be re-encoded. The earlier error, which made re-encoding
                // necessary, is the better reason for the operator.
                if !(error is ExportCost) { reason = "\(error)" }
                stepped(obstacle, error)
                rung = next
            }
        }
    }

    private func make(
        _ rung: ExportRung, _ request: StitchRequest, _ progress: @escaping (Int64, Int64) -> Void,
        _ isCancelled: @escaping () -> Bool
    ) throws -> ExportResult {
        let job = try job(rung, request, isCancelled)
        let stitched = try job.run(progress: { progress(Int64($0), Int64($1)) }, isCancelled: isCancelled)
        guard case .copy(let isExact) = rung, var report = job.rangeReport else {
            return ExportResult(
                report: .stitched(stitched), isExact: true, audioOffset: job.plan.audio == nil ? nil : 0,
                notes: notes + job.notes)
        }
        report.beingWritten = beingWritten
        return ExportResult(report: .copied(report), isExact: isExact, audioOffset: report.audioOffset)
    }

    private func job(_ rung: ExportRung, _ request: StitchRequest, _ isCancelled: () -> Bool) throws -> StitchJob {
        switch rung {
        case .copy(let isExact):
            guard var range = recorded else { throw ClipFailure("There are no recordings of that time.") }
            range.isExact = isExact
            return try StitchJob(range, request, isCancelled: isCancelled)
        case .stitch(let isCheap):
            var request = request
            request.clips = clips
            let job = try StitchJob(request, isCancelled: isCancelled)
            guard !isCheap || Self.isCheap(job.plan) else { throw ExportCost() }
            return job
        }
    }

    /// Whether no clip is re-encoded completely, and the frames that are re-encoded at the ends are no more than the
    /// copied ones or last no longer than ``mostEncoded``.
    private static func isCheap(_ plan: StitchPlan) -> Bool {
        let encoded = Int64(plan.frameCount - plan.copiedFrames)
        return plan.clips.allSatisfy(\.reasons.isEmpty)
            && (encoded <= plan.copiedFrames || encoded <= plan.video.frameRate.frames(atLeast: mostEncoded))
    }
}

/// The error that an export would re-encode more than is allowed.
private struct ExportCost: Error {}
