// SPDX-License-Identifier: Apache-2.0

package import Logging
internal import Synchronization

/// Collects log lines: the message of each line, and its metadata sorted by key. Any thread can use it.
package final class CollectedLog: Sendable {
    private let lowest: Logger.Level
    private let kept = Mutex<[(level: Logger.Level, text: String)]>([])

    /// Creates a log that collects the lines of level `lowest` and above.
    package init(from lowest: Logger.Level = .warning) { self.lowest = lowest }

    /// A logger whose lines are collected here.
    package var logger: Logger { Logger(label: "test") { [self] _ in Handler(log: self, logLevel: lowest) } }

    /// The lines so far, in the form `message key=value key=value`.
    package var lines: [String] { kept.withLock { $0.map(\.text) } }

    /// Returns the lines that contain `text`: the lines of all levels, or only those of `level`.
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

/// A logger that discards all lines.
package let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
