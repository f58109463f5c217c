// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Dispatch
internal import Glibc
internal import Logging
internal import Synchronization

/// Writes to standard error: log lines and, if it is a terminal, a status block below them.
///
/// A thread that logs never waits for the terminal, because lines go through a bounded queue. If the reader of standard
/// error does not read, lines are lost and counted, but the stream does not stop.
final class Terminal: Sendable {
    private static let limit = 2000

    private struct State {
        var pendingLines = 0
        var lostLines = 0
        var block: [String] = []
        var drawnRows = 0
        var isDrawQueued = false
    }

    /// Whether a status block is drawn: it was requested, and standard error is a terminal.
    let showsStatus: Bool

    private let state = Mutex(State())
    /// Whether the journal reads standard error. The journal expects a priority before each line.
    private let isJournal = Journal.readsStandardError
    private let queue = DispatchQueue(label: "relay.terminal", qos: .utility)

    init(showsStatus: Bool) {
        self.showsStatus = showsStatus && isatty(STDERR_FILENO) == 1
    }

    /// Queues one log line.
    func log(_ line: String, _ level: Logger.Level = .info) {
        let line = isJournal ? Journal.marked(line, level) : line
        let isQueued = state.withLock { state in
            guard state.pendingLines < Self.limit else {
                state.lostLines += 1
                return false
            }
            state.pendingLines += 1
            return true
        }
        guard isQueued else { return }
        queue.async { self.write(line) }
    }

    /// Replaces the status block on the terminal by the lines of `block`.
    func show(_ block: [String]) {
        guard showsStatus else { return }
        // Only the newest block is drawn, even after the terminal was stopped by Ctrl-S for a while.
        let isQueued = state.withLock { state in
            defer { (state.block, state.isDrawQueued) = (block, true) }
            return state.isDrawQueued
        }
        if !isQueued { queue.async { self.draw() } }
    }

    private func draw() {
        let (erase, block) = state.withLock { state in
            defer { (state.drawnRows, state.isDrawQueued) = (state.block.count, false) }
            return (Self.erasing(state.drawnRows), state.block)
        }
        Self.putUnescaped(erase + Self.fitted(block))
    }

    /// Leaves the last status block on the screen, and waits until everything is written, for at most half a second.
    func close() {
        let done = DispatchSemaphore(value: 0)
        queue.async { done.signal() }
        _ = done.wait(timeout: .now() + .milliseconds(500))
    }

    private func write(_ line: String) {
        let (erase, block, lost) = state.withLock { state in
            state.pendingLines -= 1
            defer { (state.lostLines, state.drawnRows) = (0, state.block.count) }
            return (Self.erasing(state.drawnRows), state.block, state.lostLines)
        }
        let notice = lost > 0 ? "(\(lost) log lines lost: standard error is not read)\n" : ""
        Self.putUnescaped(erase + notice + line + "\n" + Self.fitted(block))
    }

    /// Writes the lines of `text`, with escapes in place of control characters other than line feeds and tabs. Blocks
    /// for as long as the reader does not read.
    static func put(_ text: String, to descriptor: Int32 = STDERR_FILENO) {
        putUnescaped(PrintedText.lines(text), to: descriptor)
    }

    /// Writes the whole `text`, including the control sequences with which relay draws its status. Blocks for as long
    /// as the reader does not read.
    static func putUnescaped(_ text: String, to descriptor: Int32 = STDERR_FILENO) {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let written = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if written > 0 {
                bytes = bytes.dropFirst(written)
            } else if written < 0, errno != EINTR {
                return
            }
        }
    }

    private static func erasing(_ rows: Int) -> String {
        rows == 0 ? "" : "\u{1B}[\(rows)A\r\u{1B}[J"
    }

    /// Returns the block's lines, truncated to the terminal's width so that no line wraps.
    private static func fitted(_ block: [String]) -> String {
        guard !block.isEmpty else { return "" }
        var size = winsize()
        let hasSize = ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0
        let width = hasSize ? Int(size.ws_col) : 80
        return block.map { String(PrintedText.escaped($0).prefix(width)) + "\n" }.joined()
    }
}

/// Detects whether systemd's journal reads standard error.
enum Journal {
    /// Whether `descriptor` is connected to the journal. `stream` is the value of `JOURNAL_STREAM`: the device and the
    /// inode of the journal's stream (systemd.exec(5)). They must be compared, because child processes inherit the
    /// variable even if their output goes elsewhere.
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

    /// Returns the priority of syslog(3) for `level`.
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
