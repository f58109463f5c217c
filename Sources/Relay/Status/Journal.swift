// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Glibc
internal import Logging

/// Detects whether systemd's journal reads standard error.
enum Journal {
    /// Whether `descriptor` is connected to the journal. `stream` is the value of `JOURNAL_STREAM`: the device and the
    /// inode of the journal's stream (systemd.exec(5)). They are compared, because processes inherit the variable even
    /// if their output goes elsewhere.
    static func reads(_ descriptor: Int32, stream: String?) -> Bool {
        guard let parts = stream?.split(separator: ":"), parts.count == 2, let status = FileStatus(descriptor) else {
            return false
        }
        return UInt64(parts[0]) == status.device && UInt64(parts[1]) == status.inode
    }

    /// Whether standard error is read by the journal.
    static var readsStandardError: Bool {
        reads(STDERR_FILENO, stream: getenv("JOURNAL_STREAM").map { String(cString: $0) })
    }

    /// Returns the text with the priority of `level` before each line, for the journal (sd-daemon(3)).
    static func marked(_ text: String, _ level: Logger.Level) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { "<\(priority(of: level))>\($0)" }
            .joined(separator: "\n")
    }

    /// Returns the priority of syslog(3).
    private static func priority(of level: Logger.Level) -> Int {
        switch level {
        case .critical: 2
        case .error: 3
        case .warning: 4
        case .notice: 5
        case .info: 6
        case .debug, .trace: 7
        }
    }
}
