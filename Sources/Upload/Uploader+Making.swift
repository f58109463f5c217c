// SPDX-License-Identifier: Apache-2.0

package import Archive
package import Catalogue
internal import Dispatch
package import Logging
internal import Synchronization

/// Where finished files are delivered.
package enum UploadTarget: Sendable, Equatable {
    /// The files are copied to an rclone remote. `limit` is the value of rclone's `--bwlimit`; nil for no limit.
    case remote(RcloneRemote, limit: String?)
    /// The program at this path is run for each file.
    case command(String)

    /// The target of the files of a second record directory. Their names are those of the first directory's files, but
    /// their content can differ, for example after a gap. So at a remote they are copied to a folder of their own.
    package var ofSecondDirectory: UploadTarget {
        switch self {
        case .remote(let remote, let limit): .remote(remote.folder("also"), limit: limit)
        case .command: self
        }
    }
}

extension Uploader {
    /// How long the start of a recording waits for rclone. rclone knows at once which remotes it has; a remote that has
    /// to be contacted can take longer, and the stream must not wait for it.
    private static let patience = DispatchTimeInterval.seconds(3)

    /// Creates an uploader of the recordings of `channel` in `directory`. If `asksRemote` is set, asks rclone whether
    /// it knows the remote, which blocks for up to 3 s. Does not throw if the remote is only unreachable now.
    package convenience init(
        directory: RecordDirectory, channel: String, catalogue: Catalogue, target: UploadTarget,
        asksRemote: Bool = true, logger: Logger
    ) throws(UploadRefusal) {
        let delivery: any SegmentDelivery
        switch target {
        case .command(let path): delivery = try CommandDelivery(path)
        case .remote(let remote, let limit):
            let rclone = try RcloneDelivery(remote, limit: limit)
            if asksRemote, let trouble = try Self.answer(of: rclone, within: Self.patience) {
                logger.warning("\(remote) does not answer; uploads are tried again: \(trouble)")
            }
            delivery = rclone
        }
        self.init(directory: directory, channel: channel, catalogue: catalogue, delivery: delivery, logger: logger)
    }

    /// Returns why no file could be delivered to `target` now; nil if delivery seems possible. Blocks for up to 12 s.
    /// Throws if an uploader for this target could not be created.
    package static func trouble(with target: UploadTarget) throws(UploadRefusal) -> String? {
        switch target {
        case .command(let path):
            _ = try CommandDelivery(path)
            return nil
        case .remote(let remote, let limit):
            return try answer(of: try RcloneDelivery(remote, limit: limit), within: .seconds(12))
        }
    }

    private static func answer(
        of rclone: RcloneDelivery, within time: DispatchTimeInterval
    ) throws(UploadRefusal) -> String? {
        try answer(within: time) {
            do throws(UploadRefusal) { return .success(try await rclone.check()) } catch { return .failure(error) }
        }
    }

    /// Returns the answer to `question`: the reason why a remote cannot be reached now, or nil. If there is no answer
    /// within `time`, the returned reason says so, and the question continues in the background.
    static func answer(
        within time: DispatchTimeInterval,
        to question: @escaping @Sendable () async -> Result<String?, UploadRefusal>
    ) throws(UploadRefusal) -> String? {
        let answer = Answer()
        let answered = DispatchSemaphore(value: 0)
        Task.detached {
            let result = await question()
            answer.value.withLock { $0 = result }
            answered.signal()
        }
        guard answered.wait(timeout: .now() + time) == .success, let result = answer.value.withLock({ $0 })
        else { return "rclone does not answer" }
        return try result.get()
    }
}

/// Stores the answer for a caller that might have stopped waiting.
private final class Answer: Sendable {
    let value = Mutex<Result<String?, UploadRefusal>?>(nil)
}
