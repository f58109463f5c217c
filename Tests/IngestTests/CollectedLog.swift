// SPDX-License-Identifier: Apache-2.0

import Logging
import Synchronization

/// Keeps the lines of a log: message and metadata.
final class CollectedLog: Sendable {
    private struct Handler: LogHandler {
        let log: CollectedLog
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.warning

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let text = (event.metadata ?? [:]).sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
            log.kept.withLock { $0.append(([event.message.description] + text).joined(separator: " ")) }
        }
    }

    private let kept = Mutex<[String]>([])

    /// A logger of warnings that writes here.
    var logger: Logger { Logger(label: "test", factory: { _ in Handler(log: self) }) }
    /// What was written so far.
    var lines: [String] { kept.withLock { $0 } }
}
