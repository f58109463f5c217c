// SPDX-License-Identifier: Apache-2.0

/// Which file it is, whatever its names are.
package struct FileIdentity: Hashable, Sendable {
    private let device: UInt64
    private let number: UInt64

    /// The open file `descriptor`; nil if the system does not say.
    package init?(_ descriptor: CInt) {
        guard let status = FileStatus(descriptor) else { return nil }
        self.init(status)
    }

    /// The file at `path`, to which a symbolic link leads, too; nil if there is no such file.
    package init?(_ path: String) {
        guard let status = FileStatus(path) else { return nil }
        self.init(status)
    }

    private init(_ status: FileStatus) { (device, number) = (status.device, status.inode) }
}
