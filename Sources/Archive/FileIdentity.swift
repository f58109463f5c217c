// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Which file it is, whatever its names are.
public struct FileIdentity: Hashable, Sendable {
    private let device: UInt64
    private let number: UInt64

    /// The open file `descriptor`; nil if the system does not say.
    public init?(_ descriptor: CInt) {
        var info = stat()
        guard fstat(descriptor, &info) == 0 else { return nil }
        self.init(info)
    }

    /// The file at `path`, to which a symbolic link leads too; nil if there is none.
    public init?(_ path: String) {
        var info = stat()
        guard stat(path, &info) == 0 else { return nil }
        self.init(info)
    }

    private init(_ info: stat) { (device, number) = (UInt64(info.st_dev), UInt64(info.st_ino)) }
}
