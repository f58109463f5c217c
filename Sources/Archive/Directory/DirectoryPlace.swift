// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// What is known about the file system of a record directory, shared by all code that uses the directory. The facts
/// change, because a file system can be mounted, replaced or unmounted at any time. Any thread can use this object; no
/// call blocks.
final class DirectoryPlace: Sendable {
    /// The known facts about the file system.
    struct State: Sendable {
        /// The file system; nil if it has not been mounted since the directory was prepared.
        var fileSystem: FileSystemNumber?
        /// The name of the empty file that identifies the directory when its disk comes back with another device
        /// number; nil if no such file can be created, or if the directory is only read.
        var mark: String?
        /// Where the file system is mounted. Nil if it is only known that the directory must not be on the root file
        /// system.
        var mountPoint: String?
        /// The templates that were used in the directory before, according to the list that the directory contains.
        var notedTemplates: [NameTemplate] = []
        /// Counts the changes of the file system or directory.
        var generation = 0
    }

    private let state: Mutex<State>

    init(
        _ fileSystem: FileSystemNumber? = nil, mark: String? = nil, mountPoint: String? = MountPoint.root,
        notedTemplates: [NameTemplate] = []
    ) {
        state = Mutex(State(fileSystem: fileSystem, mark: mark, mountPoint: mountPoint, notedTemplates: notedTemplates))
    }

    /// What is known about the file system now.
    var now: State { state.withLock { $0 } }

    /// Records that the directory is now on `fileSystem`, which is mounted at `mountPoint`, and that it contains the
    /// mark `mark` and the list `notedTemplates`.
    func adopt(_ fileSystem: FileSystemNumber, mark: String?, mountPoint: String, notedTemplates: [NameTemplate]) {
        state.withLock { state in
            // Several threads can notice the same change. Only the first of their calls counts the change.
            if state.fileSystem == fileSystem, state.mark == mark { return }
            state = State(
                fileSystem: fileSystem, mark: mark, mountPoint: mountPoint, notedTemplates: notedTemplates,
                generation: state.generation + 1)
        }
    }
}
