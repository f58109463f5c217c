// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// A progress bar on standard error; it shows nothing if standard error is not a terminal. Only one thread may use it.
final class ProgressBar {
    private static let width: Int64 = 40

    private let isShown = isatty(STDERR_FILENO) == 1
    private var last = ""

    /// Shows the bar for `step`, with the part of `total` that is done, followed by `note`. Removes the bar when
    /// everything is done.
    func show(_ step: String, done: Int64, of total: Int64, note: String = "") {
        guard isShown, total > 0 else { return }
        guard done < total else { return clear() }
        let part = min(total, max(0, done))
        let filled = Int(Int128(part) * Int128(Self.width) / Int128(total))
        let bar = String(repeating: "#", count: filled) + String(repeating: ".", count: Int(Self.width) - filled)
        let text = "\r\(step) [\(bar)] \(Int(Int128(part) * 100 / Int128(total))) %\(note)\u{1B}[K"
        guard text != last else { return }
        last = text
        Terminal.putUnescaped(text)
    }

    /// Removes the bar.
    func clear() {
        if !last.isEmpty { Terminal.putUnescaped("\r\u{1B}[K") }
        last = ""
    }
}
