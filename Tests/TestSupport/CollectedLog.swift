// SPDX-License-Identifier: Apache-2.0

package import Logging
internal import Synchronization

/// Keeps what is logged: the message of each line, and its metadata in order of their keys. For any thread.
package final class CollectedLog: Sendable {
    private let lowest: Logger.Level
    private let kept = Mutex<[(level: Logger.Level, text: String)]>([])

    /// A log of lines from level `lowest` on.
    package init(from lowest: Logger.Level = .warning) { self.lowest = lowest }

    /// A logger that writes here.
    package var logger: Logger { Logger(label: "test") { [self] _ in Handler(log: self, logLevel: lowest) } }

    /// What was written so far, as `message key=value key=value`.
    package var lines: [String] { kept.withLock { $0.map(\.text) } }

    /// The lines that have `text` in them: all, or those of one level.
    package func lines(containing text: String, at level: Logger.Level? = nil) -> [String] {
        kept.withLock { kept in
            kept.filter { $0.text.contains(text) && (level == nil || $0.level == level) }.map(\.text)
        }
    }

    private struct Handler: LogHandler {
        let log: CollectedLog
        var logLevel: Logger.Level
        var metadata: Logger.Metadata = [:]

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let all = metadata.merging(event.metadata ?? [:]) { $1 }.sorted { $0.key < $1.key }
            let text = (["\(event.message)"] + all.map { "\($0.key)=\($0.value)" }).joined(separator: " ")
            log.kept.withLock { $0.append((event.level, text)) }
        }
    }
}

/// A logger that writes nothing.
package let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
