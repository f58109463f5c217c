// SPDX-License-Identifier: Apache-2.0

package import Archive
package import Catalogue
internal import Dispatch
package import Logging
internal import Synchronization

/// What is to be done with finished files.
package enum UploadTarget: Sendable, Equatable {
    /// They are copied to a remote of rclone, with a value for its `--bwlimit`.
    case remote(RcloneRemote, limit: String?)
    /// The program at this path is run for each.
    case command(String)
}

extension Uploader {
    /// An uploader of what `channel` records into `directory`. Asks rclone whether it knows the remote, which blocks for
    /// up to 12 s; a remote that does not answer now is no reason to refuse.
    package convenience init(
        directory: RecordDirectory, channel: String, catalogue: Catalogue, target: UploadTarget, logger: Logger
    ) throws(UploadRefusal) {
        let delivery: any SegmentDelivery
        switch target {
        case .command(let path): delivery = try CommandDelivery(path)
        case .remote(let remote, let limit):
            let rclone = try RcloneDelivery(remote, limit: limit)
            if let trouble = try Self.check(rclone) {
                logger.warning("\(remote) does not answer; uploads are tried again: \(trouble)")
            }
            delivery = rclone
        }
        self.init(
            directory: directory, channel: channel, catalogue: catalogue, delivery: delivery, logger: logger)
    }

    /// Why nothing could be handed over to `target` now; nil if nothing speaks against it. Blocks for up to 12 s. Throws
    /// why an uploader would be refused.
    package static func trouble(with target: UploadTarget) throws(UploadRefusal) -> String? {
        switch target {
        case .command(let path):
            _ = try CommandDelivery(path)
            return nil
        case .remote(let remote, let limit): return try check(try RcloneDelivery(remote, limit: limit))
        }
    }

    private static func check(_ rclone: RcloneDelivery) throws(UploadRefusal) -> String? {
        let answer = Answer()
        let answered = DispatchSemaphore(value: 0)
        Task.detached {
            let result: Result<String?, UploadRefusal>
            do throws(UploadRefusal) {
                result = .success(try await rclone.check())
            } catch {
                result = .failure(error)
            }
            answer.value.withLock { $0 = result }
            answered.signal()
        }
        guard answered.wait(timeout: .now() + .seconds(12)) == .success,
            let result = answer.value.withLock({ $0 })
        else { return "rclone does not answer" }
        return try result.get()
    }
}

/// What the task that asked leaves behind, for a caller that may have stopped waiting.
private final class Answer: Sendable {
    let value = Mutex<Result<String?, UploadRefusal>?>(nil)
}
