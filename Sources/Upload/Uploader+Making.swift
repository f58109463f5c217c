// SPDX-License-Identifier: Apache-2.0

package import Archive
package import Catalogue
internal import Dispatch
package import Logging
internal import Synchronization

/// The target of finished files.
package enum UploadTarget: Sendable, Equatable {
    /// Copy them to an rclone remote, with a value for `--bwlimit`.
    case remote(RcloneRemote, limit: String?)
    /// Run the program at this path for each file.
    case command(String)
}

extension Uploader {
    /// Creates an uploader of the recordings of `channel` in `directory`. Asks rclone whether it knows the remote,
    /// which blocks for up to 12 s; a remote that is unreachable now is no reason to throw.
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
        self.init(directory: directory, channel: channel, catalogue: catalogue, delivery: delivery, logger: logger)
    }

    /// Returns why no file could be delivered to `target` now; nil if delivery seems possible. Blocks for up to 12 s.
    /// Throws if an uploader for this target could not be created.
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
        guard answered.wait(timeout: .now() + .seconds(12)) == .success, let result = answer.value.withLock({ $0 })
        else { return "rclone does not answer" }
        return try result.get()
    }
}

/// Stores the answer for a caller that may have stopped waiting.
private final class Answer: Sendable {
    let value = Mutex<Result<String?, UploadRefusal>?>(nil)
}
