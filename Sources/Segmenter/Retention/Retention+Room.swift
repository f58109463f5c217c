// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Dispatch
internal import Media
internal import Synchronization

/// The space that retention makes for a recording that begins.
extension Retention {
    /// Deletes at once what the rules require, and computes ``room``: the amount that can be deleted during a recording
    /// of `budget`. The start of the recording waits only for a limited time. If the deletion takes longer, it
    /// continues while the program runs; files that are not deleted yet count as files that can be deleted. Waits until
    /// the directory was read and the vetoes have answered. Does nothing if the deletion of an earlier call still
    /// continues. Must not be called on retention's queue.
    package func makeRoom(for budget: StorageBudget) {
        let isUnderWay = state.withLock { state in
            defer { state.isMakingRoom = true }
            return state.isMakingRoom
        }
        if !isUnderWay {
            let deadline = DispatchTime.now() + .nanoseconds(Int(clamping: startLimit.inNanoseconds))
            let look = DispatchWorkItem(qos: .userInitiated, flags: .enforceQoS) { self.updateRoom(budget) }
            let deletion = DispatchWorkItem(qos: .userInitiated, flags: .enforceQoS) { self.deleteDue(budget) }
            queue.async(execute: look)
            queue.async(execute: deletion)
            // The amount that can be deleted must be known, however long that takes. The deletion itself need not be
            // finished.
            look.wait()
            _ = deletion.wait(timeout: deadline)
        }
    }

    /// Bytes of the files that can still be deleted during the recording for which ``makeRoom(for:)`` was last called;
    /// 0 before its first call. The file that is being deleted is not included. So a caller that measures free space
    /// first and then reads this number never counts that file twice.
    package var room: Int64 { state.withLock { $0.room ?? 0 } }

    private func updateRoom(_ budget: StorageBudget) {
        let room = deletable(budget)
        state.withLock { $0.room = room }
    }

    /// Deletes all files that are due.
    private func deleteDue(_ budget: StorageBudget) {
        var before: Int
        repeat {
            before = triedFiles
            state.withLock { $0.nextSweep = .distantPast }
            check()
        } while triedFiles > before && !state.withLock { $0.isStopped }
        updateRoom(budget)
        state.withLock { $0.isMakingRoom = false }
    }

    /// The number of files that were deleted or could not be deleted.
    private var triedFiles: Int { state.withLock { $0.status.deletedFiles + $0.undeletable.count } }

    private func deletable(_ budget: StorageBudget) -> Int64 {
        guard (try? directory.checkMount()) != nil, let look = try? look() else { return 0 }
        var (policy, answers) = state.withLock { ($0.policy, $0.answers) }
        let bytes = policy.deletable(look, during: budget) { answers.renew($0.fileName, mayDelete) }
        state.withLock { [policy, answers] state in (state.policy, state.answers) = (policy, answers) }
        return bytes
    }
}
