// SPDX-License-Identifier: Apache-2.0

/// Identifies a file, whatever its names are.
package struct FileIdentity: Hashable, Sendable {
    private let device: UInt64
    private let number: UInt64

    /// The identity of the open file `descriptor`; nil if the system does not report it.
    package init?(_ descriptor: CInt) {
        guard let status = FileStatus(descriptor) else { return nil }
        self.init(status)
    }

    /// The identity of the file at `path`, following symbolic links; nil if there is no such file.
    package init?(_ path: String) {
        guard let status = FileStatus(path) else { return nil }
        self.init(status)
    }

    private init(_ status: FileStatus) { (device, number) = (status.device, status.inode) }
}
