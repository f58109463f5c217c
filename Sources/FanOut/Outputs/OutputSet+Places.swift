// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Synchronization

/// Lets an output wait while a removed output still uses its port or directory.
extension OutputSet {
    /// Starts `output`, unless it must wait for a removed output. If only the disk can tell whether both need the same
    /// directory, the output waits for the disk's answer.
    func start(_ output: OutputSupervisor, in state: inout State) {
        let mustWait = state.leaving.contains { $0.delays(output) }
        let mustAsk = !mustWait && state.leaving.contains { $0.canShareDirectory(with: output) }
        guard mustWait || mustAsk else { return output.start() }
        state.held.append(output)
        if mustAsk { askDisks() }
    }

    /// Asks the disks which directories the outputs need, and starts those outputs that need not wait any more. The set
    /// is not locked meanwhile, because a disk can take long to answer.
    private func askDisks() {
        asking.async { [weak self] in
            guard let self else { return }
            let (held, leaving) = state.withLock { ($0.held, $0.leaving) }
            let waiting = held.filter { output in leaving.contains { $0.canShareDirectory(with: output) } }
            guard !waiting.isEmpty else { return startHeld() }
            let places = (waiting + leaving).map { (ObjectIdentifier($0), $0.realPlaces) }
            startAnswered(waiting, Dictionary(places) { first, _ in first })
        }
    }

    /// Starts the outputs of `waiting` that no removed output delays. `places` has the directories of all outputs that
    /// were asked for.
    private func startAnswered(_ waiting: [OutputSupervisor], _ places: [ObjectIdentifier: [OutputPlace]]) {
        state.withLock { state in
            guard !state.isOver else { return }
            for output in waiting {
                guard let index = state.held.firstIndex(where: { $0 === output }) else { continue }
                let isUnknown = state.leaving.contains {
                    places[ObjectIdentifier($0)] == nil && $0.canShareDirectory(with: output)
                }
                // An output was removed while the disks were asked.
                guard !isUnknown else {
                    askDisks()
                    continue
                }
                let wanted = places[ObjectIdentifier(output)] ?? []
                let mustWait = state.leaving.contains { leaving in
                    leaving.delays(output)
                        || leaving.delays(places: wanted, from: places[ObjectIdentifier(leaving)] ?? [])
                }
                guard !mustWait else { continue }
                state.held.remove(at: index)
                output.start()
            }
        }
    }
}
