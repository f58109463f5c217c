// SPDX-License-Identifier: Apache-2.0

internal import Catalogue
internal import Media
internal import Segmenter

/// Tells what keeps a finished file from being deleted by retention, and when retention deletes it for its age.
struct RecordingOutlook {
    /// A reason why a file is kept.
    enum Keeper: String {
        /// An operator holds the file.
        case hold
        /// The file contains a part of a clip that was not exported yet.
        case clip
        /// The file waits for its upload.
        case upload
    }

    /// The channel's rules for retention; nil if retention deletes nothing.
    let rules: RetentionRules?
    /// The clips of the channel.
    let clips: [CatalogueClip]

    /// Returns what keeps the file of `row`.
    func keepers(of row: CatalogueSegment, isHeld: Bool) -> [Keeper] {
        var keepers: [Keeper] = isHeld ? [.hold] : []
        if clips.contains(where: { $0.keeps(row) }) { keepers.append(.clip) }
        if row.upload == .waiting { keepers.append(.upload) }
        return keepers
    }

    /// Returns when the file of `row` becomes too old, in milliseconds since 1970; nil if age is no reason to delete
    /// it, or if that time is after the year 9999.
    func expiry(of row: CatalogueSegment) -> Int64? {
        guard let rules, let limit = rules.maximumAge else { return nil }
        let age = max(limit, rules.minimumAge).inMilliseconds
        let (time, overflow) = (row.start + row.duration / 1_000_000).addingReportingOverflow(age)
        return overflow || time > Self.latest ? nil : time
    }

    /// The last moment of the year 9999, in milliseconds since 1970.
    private static let latest: Int64 = 253_402_300_799_999
}
