// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Decides when a failed file is tried again. It does no I/O: callers report results and times, and get the time to
/// wait.
///
/// A file is tried until it is uploaded, however long that takes. Two waits, computed by ``RetryDelay``, apply to each
/// file. The file's own wait grows with its own failures, so that a file that always fails is not tried after each
/// successful file. A wait for all files grows with consecutive failures, so that an unreachable remote is not tried
/// with each of a thousand files.
struct RetrySchedule {
    private struct Entry {
        var tries = 0
        /// The time from which on the file can be tried again.
        var due = MonotonicInstant.distantPast
        /// When the file first failed since it was last postponed; nil if its last try was postponed.
        var failingSince: MonotonicInstant?
    }

    private var entries: [String: Entry] = [:]
    /// No file is tried before this time.
    private var gate = MonotonicInstant.distantPast
    /// The number of tries, of any file, that failed or were postponed since the last success or the last call of
    /// ``hurry()``.
    private(set) var failedTries = 0

    /// Records a failed try of the file `name` at `now`. `name` is nil if the failure came before a file was chosen.
    /// `isLater` means that the file was only postponed; it is tried again, but does not count as failing.
    mutating func noteFailedTry(of name: String?, isLater: Bool = false, at now: MonotonicInstant) {
        failedTries += 1
        gate = now + RetryDelay.after(failedTries)
        guard let name else { return }
        var entry = entries[name] ?? Entry()
        entry.tries += 1
        entry.due = now + RetryDelay.after(entry.tries)
        entry.failingSince = isLater ? nil : entry.failingSince ?? now
        entries[name] = entry
    }

    /// Records that the file `name` was uploaded, which also shows that the target works.
    mutating func noteSuccess(of name: String) {
        (failedTries, gate) = (0, .distantPast)
        forget(name)
    }

    /// Forgets the failures of the file `name`, because the file was uploaded, was given up or is not there.
    mutating func forget(_ name: String) { entries[name] = nil }

    /// Allows all files to be tried immediately, and begins again with the shortest waits.
    mutating func hurry() {
        (failedTries, gate) = (0, .distantPast)
        for name in entries.keys {
            entries[name]?.tries = 0
            entries[name]?.due = .distantPast
        }
    }

    /// The files whose last try failed or was postponed. All other files are tried before them.
    var tried: Set<String> { Set(entries.keys) }

    /// Returns the failed file that can be tried again at `now`; nil if no file is due. If several are due, it is the
    /// one that has been due for longest, so that all of them are tried in turn.
    func next(at now: MonotonicInstant) -> String? {
        let first = entries.min { ($0.value.due, $0.key) < ($1.value.due, $1.key) }
        return first.flatMap { $0.value.due <= now ? $0.key : nil }
    }

    /// Returns how long the wait for all files still lasts, counted from `now`; nil if that wait is over.
    func pause(at now: MonotonicInstant) -> Duration? { gate > now ? gate - now : nil }

    /// Returns how long to wait from `now` until the next file that failed or was postponed can be tried, at least 0;
    /// nil if there is no such file.
    func rest(at now: MonotonicInstant) -> Duration? {
        entries.values.map(\.due).min().map { max(.zero, $0 - now) }
    }

    /// Returns the number of tries of the file `name` that failed or were postponed since it began to fail, or since
    /// the last call of ``hurry()``.
    func tries(of name: String) -> Int { entries[name]?.tries ?? 0 }

    /// The number of files that fail, and when the file that has failed for the longest time began to fail.
    var failing: (files: Int, since: MonotonicInstant?) {
        let since = entries.values.compactMap(\.failingSince)
        return (since.count, since.min())
    }
}

/// Computes how long to wait before an upload is tried again: 1 s, then half as long again after each failure, up to 5
/// min from the 16th failure on. The number of tries is not limited.
enum RetryDelay {
    private static let longest = Duration.seconds(300)

    /// Returns the wait after the given number of consecutive failures, counted from 1.
    static func after(_ failures: Int) -> Duration {
        var delay = Duration.seconds(1)
        for _ in 1..<max(1, failures) {
            delay = delay * 3 / 2
            if delay >= longest { return longest }
        }
        return delay
    }
}
