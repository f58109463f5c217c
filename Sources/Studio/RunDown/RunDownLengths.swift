// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Ingest
internal import Logging
internal import Media
internal import Program
internal import Synchronization

/// The lengths of the files that a run-down plays to their ends. Each file is opened once, one after the other, on a
/// separate queue. All calls can be made on any thread and return at once.
final class RunDownLengths: Sendable {
    private struct State {
        var known: [String: Duration] = [:]
        var opening: SourceOpening?
        var isStopped = false
    }

    private let state = Mutex(State())

    /// Begins to measure the files of `runDown`.
    init(of runDown: RunDown, logger: Logger) {
        var paths: [String] = []
        for segment in runDown.segments where segment.length == .end {
            if let path = segment.clip?.path, !paths.contains(path) { paths.append(path) }
        }
        guard !paths.isEmpty else { return }
        DispatchQueue(label: "relay.rundown.lengths").async { [self, paths] in
            for path in paths { measure(path, logger) }
        }
    }

    /// The lengths that are known so far, by path.
    var known: [String: Duration] { state.withLock { $0.known } }

    /// Stops measuring, and releases the files.
    func stop() {
        let opening = state.withLock { state in
            state.isStopped = true
            return state.opening
        }
        opening?.cancel()
    }

    private func measure(_ path: String, _ logger: Logger) {
        let opening = SourceOpening(logger: logger)
        let isStopped = state.withLock { state in
            state.opening = opening
            return state.isStopped
        }
        // The error of a file that cannot be opened is ignored here. It is reported when the file's segment is due.
        guard !isStopped, let (source, _) = try? RunDownClip.open(RunDown.Clip(path), opening: opening, logger: logger)
        else { return }
        source.stop()
        state.withLock { $0.known[path] = source.description.duration }
    }
}
