// SPDX-License-Identifier: Apache-2.0

internal import Media

extension NameTemplate {
    /// The longest name of a file or directory that file systems store, in bytes (`NAME_MAX` of limits.h).
    private static let longestPart = 255
    /// The longest number that is expected: a file per second for 31 years.
    private static let longestSequence = "999999999"
    /// The longest text that follows a path: a number, because other files have the name, and the longest extension,
    /// which is that of a repaired file.
    private static let longestSuffix = "-999" + SegmentSalvage.repairedSuffix

    /// Throws if a name of a file or directory of `channel` could be longer than file systems store.
    ///
    /// This is not checked when a template is parsed: a directory stores its templates, and an earlier one that fails
    /// here may have made shorter names.
    package func checkLength(channel: String) throws(TextFailure) {
        let longest = sample(channel: SegmentName.safe(channel), sequence: Self.longestSequence) + Self.longestSuffix
        let bytes = longest.split(separator: "/").map(\.utf8.count).max() ?? 0
        guard bytes > Self.longestPart else { return }
        throw TextFailure(
            "The name \"\(text)\" can become \(bytes) bytes long for the channel \(channel), extension included; "
                + "a file or directory has \(Self.longestPart) at most.")
    }
}
