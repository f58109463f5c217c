// SPDX-License-Identifier: Apache-2.0

internal import Catalogue
internal import Dispatch
internal import Logging
internal import Synchronization

/// Writes clips to the catalogue, on its own queue, so that a request to begin or end a clip never waits for the disk.
/// Changes that arrive during a write are written together afterwards. Changes that could not be written are tried
/// again.
package final class ClipWriter: Sendable {
    private struct State {
        var changed: [String: CatalogueClip] = [:]
        var removed: Set<String> = []
        /// All clips that were passed to ``note(_:)`` and not removed. They are written again if the catalogue was lost
        /// and replaced.
        var noted: [String: CatalogueClip] = [:]
        var isQueued = false
        var isRetryQueued = false
        var hasFailed = false
        /// Identifies the database file that was checked and found intact; empty if the database must be checked again.
        var checked: [UInt64] = []
        /// Identifies the database file of the last successful write; empty before the first one. A failed write does
        /// not change it, so that the next write can detect that the catalogue was replaced.
        var current: [UInt64] = []
    }

    private static let retryInterval = DispatchTimeInterval.seconds(10)
    private static let patience = DispatchTimeInterval.seconds(2)

    private let archive: ChannelArchive
    private let queue: DispatchQueue
    private let state = Mutex(State())

    init(_ archive: ChannelArchive) {
        self.archive = archive
        queue = DispatchQueue(label: "relay.clips.\(archive.channel)", qos: .utility)
    }

    /// Queues `clip` for writing. Returns at once.
    func note(_ clip: CatalogueClip?) {
        guard let clip else { return }
        change { $0.changed[clip.id] = clip }
    }

    /// Queues the removal of the clip `id` from the catalogue. Returns at once.
    func remove(_ id: String) {
        change { state in
            (state.changed[id], state.noted[id]) = (nil, nil)
            state.removed.insert(id)
        }
    }

    private func change(_ body: (inout State) -> Void) {
        let isNews = state.withLock { state in
            body(&state)
            defer { state.isQueued = true }
            return !state.isQueued
        }
        if isNews { queue.async { self.write() } }
    }

    private func write() {
        let (changed, removed, checked) = state.withLock { state in
            defer { (state.changed, state.removed, state.isQueued) = ([:], [], false) }
            // The clips are added to `noted` before the write. If they were added after it, a clip that is removed
            // during the write would be added again.
            state.noted.merge(state.changed) { $1 }
            return (state.changed, state.removed, state.checked)
        }
        guard !changed.isEmpty || !removed.isEmpty else { return }
        do {
            guard let directory = try archive.directory() else { throw ClipWriterError.noDirectory }
            let ledger = archive.ledger(directory)
            let identity = try ledger.note(Array(changed.values), removing: Array(removed), checked: checked)
            let lost = state.withLock { state -> [CatalogueClip] in
                let isOther = !state.current.isEmpty && state.current != identity
                return isOther ? state.noted.values.filter { changed[$0.id] == nil } : []
            }
            if !lost.isEmpty { _ = try ledger.note(lost, removing: [], checked: identity) }
            state.withLock { ($0.checked, $0.current, $0.hasFailed) = (identity, identity, false) }
        } catch {
            fail(error, changed, removed)
        }
    }

    private func fail(_ error: any Error, _ changed: [String: CatalogueClip], _ removed: Set<String>) {
        let (isNews, mustQueue) = state.withLock { state in
            // Changes that arrived during the failed write are newer than those that failed.
            state.changed.merge(changed.filter { !state.removed.contains($0.key) }) { newer, _ in newer }
            state.removed.formUnion(removed.filter { state.changed[$0] == nil })
            state.checked = []
            defer { (state.hasFailed, state.isQueued, state.isRetryQueued) = (true, true, true) }
            return (!state.hasFailed, !state.isRetryQueued)
        }
        if isNews { archive.logger.warning("clips cannot be noted in the catalogue, which is tried again: \(error)") }
        guard mustQueue else { return }
        queue.asyncAfter(deadline: .now() + Self.retryInterval) {
            self.state.withLock { $0.isRetryQueued = false }
            self.write()
        }
    }

    /// Blocks until all changes so far are written, until an attempt to write them has failed, or until the disk has
    /// not answered for 2 s. Changes that wait for a retry are tried at once.
    package func flush() {
        let done = DispatchSemaphore(value: 0)
        queue.async {
            self.write()
            done.signal()
        }
        _ = done.wait(timeout: .now() + Self.patience)
    }
}

/// The reason why clips cannot be written to the catalogue.
private enum ClipWriterError: Error, CustomStringConvertible {
    case noDirectory

    var description: String { "there is no directory of recordings" }
}
