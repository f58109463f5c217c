// SPDX-License-Identifier: Apache-2.0

internal import Logging
internal import Media
internal import Status

extension ControlEvent {
    /// Converts a log line to an event; nil for a line that operators need not read later. Log lines contain no
    /// secrets, and report each change once, so they are suitable as events.
    init?(_ level: Logger.Level, _ message: String, _ metadata: Logger.Metadata) {
        let told = metadata[LogKey.event].map { "\($0)" }
        guard level >= .info, told != ControlEvent.statusLine else { return nil }
        let output = metadata["output"].map { "\($0)" }
        let known: [(key: String, kind: EventKind)] = [
            ("webhook", .webhook), ("export", .export), ("output", .output), ("input", .input),
            ("segment", .recorder), ("since_s", .alarm), ("lasted_s", .alarm), ("channel", .channel),
        ]
        let details = ["source", "directory", "reason", "cause", "delay_s", "segment"].compactMap { key in
            metadata[key].map { "\(key): \($0)" }
        }
        self.init(
            channel: metadata["channel"].map { "\($0)" }, level: Level(level),
            kind: told.flatMap(EventKind.init(rawValue:)) ?? known.first { metadata[$0.key] != nil }?.kind ?? .relay,
            output: output,
            text: PrintedText.escaped(details.isEmpty ? message : "\(message) (\(details.joined(separator: ", ")))"))
    }
}

extension ControlEvent.Level {
    fileprivate init(_ level: Logger.Level) {
        switch level {
        case .critical, .error: self = .error
        case .warning: self = .warning
        case .notice: self = .notice
        default: self = .info
        }
    }
}
