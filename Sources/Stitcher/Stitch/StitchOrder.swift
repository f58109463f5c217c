// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Foundation
internal import Media

/// The order in which clips are joined.
package enum StitchOrder: String, Sendable, CaseIterable {
    /// The order in which the clips were given.
    case given
    /// By the names of the clips' files. Numbers in the names are compared as numbers.
    case byName
    /// By the recording time. It is read from the clip's file or, if the file does not contain it, from the file's
    /// name.
    case byTime

    /// The numbers of the clips, sorted in this order.
    func order(_ sources: [StitchSource]) throws(ClipFailure) -> [Int] {
        switch self {
        case .given: return Array(sources.indices)
        case .byName:
            return sources.indices.sorted {
                let order = Self.name(sources[$0]).compare(Self.name(sources[$1]), options: .numeric)
                return order == .orderedSame ? $0 < $1 : order == .orderedAscending
            }
        case .byTime:
            var times: [Int64] = []
            for source in sources {
                guard let time = source.created ?? Self.time(inName: Self.name(source)) else {
                    throw ClipFailure("\(source.name) does not say when it was recorded, nor does its name.")
                }
                times.append(time)
            }
            return sources.indices.sorted { (times[$0], $0) < (times[$1], $1) }
        }
    }

    private static func name(_ source: StitchSource) -> String { String(source.name.split(separator: "/").last ?? "") }

    /// The time in a file name such as `cam_20261121T140310Z.mp4`, `2026-11-21 14.03.10.mov` or
    /// `VID_20261121_140310.mp4`, taken as UTC, in milliseconds since 1970; nil if the name contains no time.
    static func time(inName name: String) -> Int64? {
        let pattern = /(\d{4})-?(\d\d)-?(\d\d)[T_ -]?(\d\d)[-:._]?(\d\d)[-:._]?(\d\d)(?:\.(\d{3}))?/
        guard let found = name.firstMatch(of: pattern) else { return nil }
        let (_, year, month, day, hour, minute, second, fraction) = found.output
        return UTCTime(
            extended: "\(year)-\(month)-\(day)T\(hour):\(minute):\(second).\(fraction ?? "000")Z")?.milliseconds
    }
}
