// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Glibc

/// Properties of a catalogue's database that show whether it was written.
package struct CatalogueStamp: Sendable, Equatable {
    /// If the modification time is further from the current time than this, any later write changes the modification
    /// time, in every file system.
    private static let coarsest = Duration.milliseconds(2500)

    private let device: UInt64
    private let number: UInt64
    private let size: Int64
    /// The modification time of the database, in nanoseconds since 1970.
    private let modified: Int64

    /// The stamp of the database in `directory` now; nil without a database.
    package init?(in directory: String) {
        var info = stat()
        guard lstat("\(directory)/\(CatalogueStore.fileName)", &info) == 0 else { return nil }
        (device, number) = (UInt64(info.st_dev), UInt64(info.st_ino))
        size = Int64(info.st_size)
        modified = Int64(info.st_mtim.tv_sec) &* 1_000_000_000 &+ Int64(info.st_mtim.tv_nsec)
    }

    /// Whether any later write changes the stamp.
    package var isReliable: Bool {
        let age = Duration.milliseconds(UTCTime.now.milliseconds) - .nanoseconds(modified)
        return max(age, .zero - age) > Self.coarsest
    }
}
