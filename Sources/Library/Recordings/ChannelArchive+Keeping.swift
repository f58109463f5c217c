// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Catalogue
internal import Glibc
internal import Logging
package import Media
internal import Segmenter

/// Protecting and deleting recordings on request.
extension ChannelArchive {
    /// Protects a file from deletion if `isHeld` is true; otherwise ends the protection.
    package func setHold(_ isHeld: Bool, of id: String) throws(Refusal) {
        let name = isHeld ? try hold(id) : try letGo(id)
        logger.notice(
            "the operator \(isHeld ? "holds a recording" : "holds a recording no more")",
            metadata: [LogKey.event: "\(EventKind.operator.rawValue)", "segment": "\(name)"])
    }

    private func letGo(_ id: String) throws(Refusal) -> String {
        let (directory, file) = try file(id)
        try telling { try HoldMark.remove(of: file.closedName, in: directory) }
        return file.closedName
    }

    /// The maximum number of checks whether a protected file is safe from deletion, and the microseconds between two
    /// checks.
    private static let holdLooks = (count: 500, pause: UInt32(10_000))

    /// Marks the recording as protected, and returns its name when nothing can delete it any more. If that fails, the
    /// mark stays as long as the file exists, because another request, or an operator by hand, can have set it.
    private func hold(_ id: String) throws(Refusal) -> String {
        var mark: (directory: RecordDirectory, name: String)?
        do throws(Refusal) {
            for _ in 0..<Self.holdLooks.count {
                let (directory, file) = try file(id)
                try telling { try HoldMark.set(of: file.closedName, in: directory) }
                mark = (directory, file.closedName)
                if isSafe(file, in: directory) { return file.closedName }
                usleep(Self.holdLooks.pause)
            }
            throw Refusal(.conflict, "The file is marked as held, but is in use and may be deleted. Ask again.")
        } catch {
            if let mark, isGone(mark.name, in: mark.directory) {
                try? HoldMark.remove(of: mark.name, in: mark.directory)
            }
            throw error
        }
    }

    /// Whether there is no file with the closed name `name`, open or closed. The open name is checked first, because
    /// the file can be closed between the two checks.
    private func isGone(_ name: String, in directory: RecordDirectory) -> Bool {
        [RecordDirectory.openName(of: name), name].allSatisfy { name in
            access("\(directory.path)/\(name)", F_OK) != 0 && errno == ENOENT
        }
    }

    /// Returns whether a marked file is safe from deletion. Each deletion holds the file's lock while it checks the
    /// mark. So when the lock is free, every deletion that did not find the mark has ended. An open file is never
    /// deleted, only renamed.
    private func isSafe(_ file: OpenFile, in directory: RecordDirectory) -> Bool {
        (file.isOpen || file.descriptor.lock()) && (try? directory.open(recording: file.name)) != nil
    }

    /// Plans the deletion of one file. Throws `conflict` with the reason if the file must be kept.
    package func planDeletion(of id: String) throws(Refusal) -> DeletionPlan {
        let (directory, file) = try file(id)
        let objections = Objections(directory, channel: channel)
        if let reason = objections.reason(against: file.closedName, isOpen: file.isOpen) {
            throw Refusal(.conflict, reason)
        }
        let files = [DeletedRecording(id: id, name: file.name, bytes: try telling { try file.descriptor.size() })]
        return DeletionPlan(deletes: files, token: plans.add(files, for: .recording(id: id)))
    }

    /// Plans the deletion of the oldest files, so that `bytes` bytes are free on the disk. Throws `conflict` if that
    /// cannot be reached.
    package func planRoom(for bytes: Int64) throws(Refusal) -> DeletionPlan {
        guard let directory = try directory() else {
            throw Refusal(.conflict, "There are no recordings that could be deleted.")
        }
        return try telling {
            let free = try SystemFreeSpace().space(at: directory.path).free
            let objections = Objections(directory, channel: channel)
            var files: [DeletedRecording] = []
            var total = free
            if total < bytes {
                try ledger(directory).visitKept { segment in
                    guard objections.reason(against: segment.name, isOpen: false) == nil,
                        let size = try? directory.open(recording: segment.name).size()
                    else { return true }
                    total += size
                    files.append(.init(id: RecordingID.id(of: segment.name), name: segment.name, bytes: size))
                    return total < bytes
                }
            }
            guard total >= bytes else {
                throw Refusal(
                    .conflict,
                    "\(bytes) bytes cannot be made free: \(free) are, and \(total - free) in \(files.count) recordings "
                        + "could be deleted.")
            }
            return DeletionPlan(
                deletes: files, token: plans.add(files, for: .room(bytes: bytes)), freeBytes: free)
        }
    }

    /// Deletes the files of the plan with this token. A token is valid for one minute and can be used once. Throws
    /// `conflict` for any other token, or if a file must not be deleted any more; then nothing is deleted.
    package func delete(token: String, subject: DeletionSubject) throws(Refusal) -> DeletionResult {
        guard let plan = plans.take(token, for: subject), let directory = try directory() else {
            throw Refusal(.conflict, "The token is not good any more. Ask again without one.")
        }
        let objections = Objections(directory, channel: channel)
        for file in plan.files {
            if let reason = objections.reason(against: file.name, isOpen: false) {
                throw Refusal(.conflict, "\(file.name): \(reason) Nothing was deleted.")
            }
        }
        var deleted: [DeletedRecording] = []
        var failure: FileFailure?
        for file in plan.files {
            do {
                guard try directory.delete(recording: file.name, of: channel) else { continue }
                deleted.append(file)
                logger.notice(
                    "recording deleted by the operator",
                    metadata: ["segment": "\(file.name)", "bytes": "\(file.bytes)"])
            } catch {
                failure = failure ?? error
            }
        }
        do {
            try ledger(directory).noteDeletions(of: deleted.map(\.name))
        } catch {
            logger.warning("the catalogue does not know yet that recordings were deleted: \(error)")
        }
        if let failure, deleted.isEmpty { try telling { throw failure } }
        // If a file was not deleted because it is held, an operator protected it after the check above.
        if deleted.isEmpty, let held = plan.files.first(where: { HoldMark.isSet(of: $0.name, in: directory) }) {
            throw Refusal(.conflict, "\(held.name): It is held. Nothing was deleted.")
        }
        return DeletionResult(deleted: deleted)
    }

    /// Deletes the files of `run` that are in the catalogue and may be deleted. Does nothing while the run's recorder
    /// is active. Returns whether a file was deleted.
    func discard(run: String) throws(Refusal) -> Bool {
        guard let directory = try directory(), !directory.livingRuns().contains(run) else { return false }
        return try telling {
            let objections = Objections(directory, channel: channel)
            let files = try ledger(directory).kept(ofRun: run).filter {
                objections.reason(against: $0.name, isOpen: false) == nil
            }
            var deleted: [String] = []
            for file in files where try directory.delete(recording: file.name, of: channel) {
                deleted.append(file.name)
                logger.notice(
                    "a file that was recorded for clips is discarded: no clip needs it",
                    metadata: ["segment": "\(file.name)"])
            }
            try ledger(directory).noteDeletions(of: deleted)
            return !deleted.isEmpty
        }
    }

    /// The reasons not to delete files.
    private struct Objections {
        let directory: RecordDirectory
        /// A catalogue that is not started, and therefore only reads.
        let catalogue: Catalogue
        let clips: ClipHold

        init(_ directory: RecordDirectory, channel: String) {
            self.directory = directory
            catalogue = Catalogue(directory: directory, channel: channel, logger: .init(label: "relay"))
            clips = ClipHold(directory: directory, channel: channel)
        }

        /// The reason why the file must not be deleted, in a sentence; nil if it may be.
        func reason(against name: String, isOpen: Bool) -> String? {
            if isOpen { return "It is being written." }
            if HoldMark.isSet(of: name, in: directory) { return "It is held." }
            if !clips.mayDelete(name) {
                return clips.problem == nil
                    ? "It holds a clip that was not exported yet."
                    : "A clip may lie in it that a damaged catalogue lost."
            }
            return catalogue.mayDelete(name) ? nil : "It is not uploaded yet."
        }
    }
}
