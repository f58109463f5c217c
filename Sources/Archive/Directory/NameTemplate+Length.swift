// SPDX-License-Identifier: Apache-2.0

package import Media

extension NameTemplate {
    /// The maximum length of the name of a file or directory, in bytes (`NAME_MAX` of limits.h).
    private static let longestPart = 255
    /// The longest number that a file is expected to get: one file per second for 31 years.
    private static let longestSequence = "999999999"
    /// The longest text that is appended to a path: the number that distinguishes files with the same name, and the
    /// longest extension, which is the extension of a salvaged file.
    private static let longestSuffix = "-999" + SegmentSalvage.repairedSuffix

    /// Throws if the name of a file or directory of `channel` could be longer than file systems allow.
    ///
    /// Templates are not checked when they are parsed. A directory also stores the templates of earlier runs, which
    /// must be accepted: the names of existing files can be short enough although the template fails this check.
    package func checkLength(channel: String) throws(TextFailure) {
        let longest = sample(channel: SegmentName.safe(channel), sequence: Self.longestSequence) + Self.longestSuffix
        let bytes = longest.split(separator: "/").map(\.utf8.count).max() ?? 0
        guard bytes > Self.longestPart else { return }
        throw TextFailure(
            "The name \"\(text)\" can become \(bytes) bytes long for the channel \(channel), extension included; "
                + "a file or directory has \(Self.longestPart) at most.")
    }
}
