// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Glibc

/// An empty file in a record directory. It shows that clips might be lost, and so that recordings might need protection
/// from deletion although no known clip protects them.
///
/// `.relay-clips.restoring` exists while the clips of a damaged catalogue are moved to a new one, and
/// `.relay-clips.broken-N` names the damaged database. If not all clips can be read, `.relay-clips.restoring` is
/// renamed to `.relay-clips.unknown`, which stays until an operator removes it. All calls block on the disk.
enum ClipMark {
    private static let (pending, brokenPrefix) = (".relay-clips.restoring", ".relay-clips.broken-")
    /// The name of the mark that shows that clips were lost. An operator removes the mark.
    static let unknown = ".relay-clips.unknown"

    /// Records that clips are in the database that was, or is about to be, set aside under the number `number`.
    static func begin(_ number: Int, in directory: String) throws(FileFailure) {
        try MarkFile(pending, in: directory).touch()
        try MarkFile("\(brokenPrefix)\(number)", in: directory).touch()
    }

    /// Returns the numbers of the databases whose clips are not in the new catalogue yet, in descending order.
    static func databases(in directory: String) throws(FileFailure) -> [Int] {
        try RecordDirectory.names(in: directory).filter { $0.hasPrefix(brokenPrefix) }
            .compactMap { Int($0.dropFirst(brokenPrefix.count)) }.sorted(by: >)
    }

    /// Records that the clips of these databases were moved to the new catalogue; `isWhole` tells whether all clips
    /// could be read.
    static func end(_ numbers: [Int], isWhole: Bool, in directory: String) throws(FileFailure) {
        let path = "\(directory)/\(pending)"
        if !isWhole {
            // Renaming keeps the file's modification time, which is the time before which the lost clips began.
            guard rename(path, "\(directory)/\(unknown)") == 0 || errno == ENOENT else {
                throw FileFailure("rename", path, code: errno)
            }
        }
        // The mark `pending` is removed before the marks with numbers. If the process were killed when only `pending`
        // is left, nothing would remove it later.
        for name in [pending] + numbers.map({ "\(brokenPrefix)\($0)" }) {
            try MarkFile(name, in: directory).remove()
        }
    }

    /// Records that clips are lost.
    static func setUnknown(in directory: String) throws(FileFailure) { try MarkFile(unknown, in: directory).touch() }

    /// Returns the time before which clips began that are lost or are still being restored, in milliseconds since 1970;
    /// `Int64.max` if a mark cannot be read. Nil if there are no such clips.
    static func time(in directory: String) -> Int64? {
        [pending, unknown].compactMap { MarkFile($0, in: directory).time }.max()
    }
}
