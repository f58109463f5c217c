// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import FoundationEssentials
internal import Logging

/// Formats log lines as text or JSON. Every message and value is made safe for terminals: see ``PrintedText``.
///
/// | level | meaning |
/// |---|---|
/// | error | something is lost, or will be lost unless an operator acts |
/// | warning | something failed and is being retried, or will fail |
/// | notice | the cause of a warning is gone |
/// | info | changes that operators want to read later: on air, off air, files |
/// | debug | details for finding faults |
struct RelayLogHandler: LogHandler {
    let label: String
    let writer: LogWriter
    var logLevel: Logger.Level
    var metadata: Logger.Metadata = [:]

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        writer.log(event.level, event.message, metadata.merging(event.metadata ?? [:]) { _, new in new })
    }

    static func text(_ level: Logger.Level, _ message: Logger.Message, _ metadata: Logger.Metadata) -> String {
        let name = level.rawValue + String(repeating: " ", count: max(0, 7 - level.rawValue.count))
        let output = metadata["output"].map { PrintedText.escaped("\($0)") + ": " } ?? ""
        let rest = metadata.filter { $0.key != "output" }.sorted { $0.key < $1.key }
            .map { " \($0.key)=" + PrintedText.value("\($0.value)") }.joined()
        return "\(UTCTime.now.extended) \(name) \(output)\(PrintedText.message("\(message)"))\(rest)"
    }

    static func json(_ level: Logger.Level, _ message: Logger.Message, _ metadata: Logger.Metadata) -> String {
        var object = metadata.mapValues { "\($0)" }
        object["time"] = UTCTime.now.extended
        object["level"] = level.rawValue
        object["message"] = "\(message)"
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(object) else { return "{}" }
        return PrintedText.json(String(decoding: data, as: UTF8.self))
    }
}
