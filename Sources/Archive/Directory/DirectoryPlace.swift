// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Which file system a record directory is on, for all code that uses the directory: the file system can be mounted,
/// swapped or unmounted meanwhile. For any thread; no call blocks.
final class DirectoryPlace: Sendable {
    /// Facts about the file system, as far as they are known.
    struct State: Sendable {
        /// The file system; nil as long as it was never mounted since the directory was prepared.
        var fileSystem: FileSystemNumber?
        /// The name of the empty file by which the directory is known again when its disk comes back under another number;
        /// nil where none can be made.
        var mark: String?
        /// Where its file system is mounted; nil if that is not known but must not be the root directory.
        var mountPoint: String?
        /// The templates that the directory notes as used before.
        var notedTemplates: [NameTemplate] = []
        /// Counts the file systems, or directories, that were used one after the other.
        var generation = 0
    }

    private let state: Mutex<State>

    init(
        _ fileSystem: FileSystemNumber? = nil, mark: String? = nil, mountPoint: String? = MountPoint.root,
        notedTemplates: [NameTemplate] = []
    ) {
        state = Mutex(
            State(fileSystem: fileSystem, mark: mark, mountPoint: mountPoint, notedTemplates: notedTemplates))
    }

    /// The facts now.
    var now: State { state.withLock { $0 } }

    /// The directory is on `fileSystem` from now on, which is mounted at `mountPoint`, has the mark `mark`, and notes
    /// `notedTemplates`.
    func adopt(
        _ fileSystem: FileSystemNumber, mark: String?, mountPoint: String, notedTemplates: [NameTemplate]
    ) {
        state.withLock { state in
            // Several threads may find out at the same time.
            if state.fileSystem == fileSystem, state.mark == mark { return }
            state = State(
                fileSystem: fileSystem, mark: mark, mountPoint: mountPoint, notedTemplates: notedTemplates,
                generation: state.generation + 1)
        }
    }
}
