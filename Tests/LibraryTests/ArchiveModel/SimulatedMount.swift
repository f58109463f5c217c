// SPDX-License-Identifier: Apache-2.0

import Archive
import Synchronization

/// The mount point of the archive's disk, which may be mounted or not.
final class SimulatedMount: Sendable {
    private let path: String
    private let mounted = Mutex(true)

    init(path: String) { self.path = path }

    /// Whether the disk is mounted.
    var isMounted: Bool {
        get { mounted.withLock { $0 } }
        set { mounted.withLock { $0 = newValue } }
    }

    /// What relay sees of the mount point.
    var view: MountView {
        MountView(point: { [path] _ in path }, isMounted: { [self] in $0 == path ? isMounted : true })
    }
}
