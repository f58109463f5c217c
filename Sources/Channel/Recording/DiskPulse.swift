// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Dispatch
internal import Media
internal import Synchronization

/// Finds out whether the disk of a directory still answers. It asks again and again, on a queue of its own. While a
/// question is not answered, no other is asked, so that a disk that hangs blocks one thread.
///
/// Any thread may use it. No call blocks.
final class DiskPulse: Sendable {
    private struct State {
        /// When the question that is not answered yet was asked; nil if none is under way.
        var asked: MonotonicInstant?
        /// When the next question is asked.
        var next = MonotonicInstant.distantPast
    }

    /// The pause between two questions.
    private static let pause = Duration.seconds(1)

    private let path: String
    private let clock: any MonotonicClock
    private let ask: @Sendable (String) -> Void
    private let queue = DispatchQueue(label: "relay.pulse", qos: .utility)
    private let state = Mutex(State())

    /// A pulse of the disk of the directory `path`. `ask` can block for ever; by default it creates and removes an empty
    /// file, because a disk can answer to readers only.
    init(
        of path: String, clock: any MonotonicClock,
        ask: @escaping @Sendable (String) -> Void = { path in try? RecordDirectory.existing(path).probe(bytes: 0) }
    ) {
        (self.path, self.clock, self.ask) = (path, clock, ask)
    }

    /// Whether the disk has not answered the present question for `patience`. Asks the next question if it is due.
    func isSilent(for patience: Duration) -> Bool {
        let now = clock.now
        let (asked, isDue) = state.withLock { state -> (MonotonicInstant?, Bool) in
            guard state.asked == nil, now >= state.next else { return (state.asked, false) }
            state.asked = now
            return (now, true)
        }
        if isDue {
            queue.async { [self] in
                ask(path)
                let answered = clock.now
                state.withLock { ($0.asked, $0.next) = (nil, answered + Self.pause) }
            }
        }
        return asked.map { now - $0 >= patience } ?? false
    }
}

/// Finds out whether the disks of several directories still answer.
struct DiskPulses {
    private let make: (String) -> DiskPulse
    private var pulses: [String: DiskPulse] = [:]

    /// Pulses that `make` makes, each for the directory of a path.
    init(_ make: @escaping (String) -> DiskPulse) { self.make = make }

    /// Whether each of the disks of the directories `paths` has not answered its present question for `patience`; false
    /// without directories. Asks each disk its next question if that is due.
    mutating func areSilent(_ paths: Set<String>, for patience: Duration) -> Bool {
        for path in paths where pulses[path] == nil { pulses[path] = make(path) }
        let silent = paths.filter { pulses[$0]?.isSilent(for: patience) == true }
        return !paths.isEmpty && silent == paths
    }
}
