// SPDX-License-Identifier: Apache-2.0

import Logging
import Synchronization

/// Keeps what is logged: each line is its level, its message and its metadata.
final class LogSpy: Sendable {
    private let state = Mutex<[String]>([])

    var lines: [String] { state.withLock { $0 } }
    var logger: Logger {
        Logger(label: "test") { _ in Handler(spy: self) }
    }

    func lines(containing text: String) -> [String] { lines.filter { $0.contains(text) } }

    private struct Handler: LogHandler {
        let spy: LogSpy
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.debug

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(
            level: Logger.Level, message: Logger.Message, metadata: Logger.Metadata?, source: String, file: String,
            function: String, line: UInt
        ) {
            let all = self.metadata.merging(metadata ?? [:]) { $1 }.sorted { $0.key < $1.key }
            let text = (["\(level)", "\(message)"] + all.map { "\($0.key)=\($0.value)" }).joined(separator: " ")
            spy.state.withLock { $0.append(text) }
        }
    }
}
