// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Logging
internal import Synchronization

/// Closes files on a queue of its own, so that waiting for the disk's cache does not hold up the next file.
final class SegmentCloser: Sendable {
    /// A file on its way from the recorder's queue to this one.
    ///
    /// Safe to send: the recorder gives up its only reference when it makes one of these, so that one queue at a time
    /// holds the file.
    private struct Handover: @unchecked Sendable {
        let file: SegmentFile
    }

    private let queue: DispatchQueue
    private let group = DispatchGroup()
    private let status: RecorderStatusBox
    private let logger: Logger

    init(channel: String, status: RecorderStatusBox, logger: Logger) {
        queue = DispatchQueue(label: "relay.recorder.\(channel).close")
        self.status = status
        self.logger = logger
    }

    /// Closes `file`, which the caller must not touch any more.
    func close(_ file: consuming SegmentFile) {
        let handover = Handover(file: file)
        queue.async(group: group) { [status, logger] in
            let file = handover.file
            do throws(FileFailure) {
                let result = try file.close()
                status.value.withLock { status in
                    status.segmentsFinished += 1
                    status.lastFinished = result.fileName
                    if let failure = result.failure { status.lastError = failure.description }
                }
                if let failure = result.failure {
                    logger.error("segment stays fragmented: \(failure)", metadata: ["segment": "\(result.fileName)"])
                } else {
                    logger.info(
                        "segment finished",
                        metadata: [
                            "segment": "\(result.fileName)", "frames": "\(file.frames)", "bytes": "\(file.bytes)",
                        ])
                }
            } catch {
                status.value.withLock { $0.lastError = error.description }
                logger.error("segment not closed: \(error)", metadata: ["segment": "\(file.name)"])
            }
        }
    }

    /// Calls `body` on `queue` when all files handed over are closed.
    func whenIdle(_ queue: DispatchQueue, _ body: @escaping @Sendable () -> Void) {
        group.notify(queue: queue, execute: body)
    }
}

/// The recorder's status, written by its queue and the closing queue, read by anyone.
final class RecorderStatusBox: Sendable {
    let value = Mutex(RecorderStatus())
}
