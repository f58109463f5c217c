// SPDX-License-Identifier: Apache-2.0

internal import Control
internal import Logging
internal import Status

extension ControlEvent {
    /// The log line as an event; nil for what nobody reads later. Log lines hold no secrets, and tell each change once.
    init?(_ level: Logger.Level, _ message: String, _ metadata: Logger.Metadata) {
        guard level >= .info, !message.hasPrefix("status: ") else { return nil }
        let output = metadata["output"].map { "\($0)" }
        let known: [(String, String)] = [
            ("webhook", Self.webhookKind), ("export", "export"), ("output", "output"), ("input", "input"),
            ("segment", "recorder"), ("since_s", "alarm"),
            ("lasted_s", "alarm"), ("channel", "channel"),
        ]
        let details = ["source", "reason", "cause", "delay_s", "segment"].compactMap { key in
            metadata[key].map { "\(key): \($0)" }
        }
        self.init(
            channel: metadata["channel"].map { "\($0)" }, level: Level(level),
            kind: Self.kind(saying: message) ?? known.first { metadata[$0.0] != nil }?.1 ?? "relay", output: output,
            text: details.isEmpty ? message : "\(message) (\(details.joined(separator: ", ")))")
    }

    /// How the lines of uploads begin, which name a segment as the recorder's do.
    private static let uploadBeginnings = ["upload ", "segment handed over", "not uploaded", "what waits for upload"]

    /// What a line is about that no key tells: they say so in their first words.
    private static func kind(saying message: String) -> String? {
        if message.hasPrefix("the operator ") { return "operator" }
        if uploadBeginnings.contains(where: message.hasPrefix) { return "upload" }
        let beginnings = ["storage ", "recording refused", "recording waits"]
        return beginnings.contains(where: message.hasPrefix) ? "storage" : nil
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
