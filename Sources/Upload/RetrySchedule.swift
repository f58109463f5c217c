// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Decides when a file that could not be handed over is tried again. Pure: results and times go in, waits come out.
///
/// A file is tried until it is handed over, however long that takes. Two waits hold it back, both of ``RetryDelay``: its own,
/// which grows with its own tries, so that a file that always fails is not tried after each file that does not; and one for
/// all files, which grows with the tries in a row that failed, so that a remote that is away is not asked for each of a
/// thousand files. Times are nanoseconds of a clock that never steps.
struct RetrySchedule {
    private struct Entry {
        var tries = 0
        /// When it may be tried again.
        var due = Int64.min
        /// When the first of the failures in a row came; nil after an answer that was no failure of the file.
        var failingSince: Int64?
    }

    private var entries: [String: Entry] = [:]
    /// Before this time nothing is tried.
    private var gate = Int64.min
    /// Tries in a row, of any file, that handed nothing over.
    private(set) var failedTries = 0

    /// Notes at `now` that a try handed nothing over: of the file `name`, or nil where it did not come to a file. With
    /// `isLater` that is no failure of the file.
    mutating func noteFailedTry(of name: String?, isLater: Bool = false, at now: Int64) {
        failedTries += 1
        gate = now + RetryDelay.after(failedTries).inNanoseconds
        guard let name else { return }
        var entry = entries[name] ?? Entry()
        entry.tries += 1
        entry.due = now + RetryDelay.after(entry.tries).inNanoseconds
        entry.failingSince = isLater ? nil : entry.failingSince ?? now
        entries[name] = entry
    }

    /// Notes that the file `name` was handed over: what it was handed to works.
    mutating func noteSuccess(of name: String) {
        (failedTries, gate) = (0, .min)
        forget(name)
    }

    /// Forgets the file `name`, which is not to be handed over any more.
    mutating func forget(_ name: String) { entries[name] = nil }

    /// Lets everything be tried at once, with short waits again.
    mutating func hurry() {
        (failedTries, gate) = (0, .min)
        for name in entries.keys {
            entries[name]?.tries = 0
            entries[name]?.due = .min
        }
    }

    /// Files that were tried without success. All others come first.
    var tried: Set<String> { Set(entries.keys) }

    /// The file that may be tried again at `now`: the one that has been due for longest, so that each has its turn; nil if
    /// none may be.
    func next(at now: Int64) -> String? {
        let first = entries.min { ($0.value.due, $0.key) < ($1.value.due, $1.key) }
        return first.flatMap { $0.value.due <= now ? $0.key : nil }
    }

    /// How long after `now` nothing may be tried; nil if something may be.
    func pause(at now: Int64) -> Duration? { gate > now ? .nanoseconds(gate - now) : nil }

    /// How long after `now` the next file may be tried again, at least 0; nil if there is no such file.
    func rest(at now: Int64) -> Duration? {
        entries.values.map(\.due).min().map { $0 > now ? .nanoseconds($0 - now) : .zero }
    }

    /// Tries of the file `name` that handed nothing over.
    func tries(of name: String) -> Int { entries[name]?.tries ?? 0 }

    /// How many files fail, and since when the one that has failed for longest.
    var failing: (files: Int, since: Int64?) {
        let since = entries.values.compactMap(\.failingSince)
        return (since.count, since.min())
    }
}
