// SPDX-License-Identifier: Apache-2.0

internal import GRDB

/// A segment as GRDB reads and writes it, so that the public type needs no database.
struct SegmentRow: Codable, FetchableRecord, PersistableRecord {
    static let databaseTableName = "segments"

    var segment: CatalogueSegment

    init(_ segment: CatalogueSegment) { self.segment = segment }
    init(from decoder: any Decoder) throws { segment = try CatalogueSegment(from: decoder) }
    func encode(to encoder: any Encoder) throws { try segment.encode(to: encoder) }
}

/// A gap as GRDB reads and writes it.
struct GapRow: Codable, FetchableRecord, PersistableRecord {
    static let databaseTableName = "gaps"

    var gap: CatalogueGap

    init(_ gap: CatalogueGap) { self.gap = gap }
    init(from decoder: any Decoder) throws { gap = try CatalogueGap(from: decoder) }
    func encode(to encoder: any Encoder) throws { try gap.encode(to: encoder) }
}
