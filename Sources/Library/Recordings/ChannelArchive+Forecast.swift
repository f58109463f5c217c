// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Catalogue
internal import Glibc
internal import Media
internal import Segmenter

/// The forecast of deletions.
extension ChannelArchive {
    /// The maximum number of deletions in the forecast, and of files that are checked for a reason to keep them. So the
    /// forecast takes the same time in an archive of any size.
    private static let (mostForecast, mostAsked) = (20, 1000)

    /// Returns the files that retention deletes next, in that order; nil if it deletes nothing. Files that something
    /// keeps now are left out. `open` are the files that are not closed.
    func nextDeletions(
        in directory: RecordDirectory, _ outlook: RecordingOutlook, beside open: [RecordingList.Recording],
        _ retention: RetentionStatus?
    ) throws -> [RecordingList.NextDeletion]? {
        guard let rules else { return nil }
        var forecast = RetentionForecast(
            rules: rules, room: retention?.roomBytes, rate: Self.rate(of: open), now: UTCTime.now.milliseconds)
        var next: [RecordingList.NextDeletion] = []
        var asked = 0
        try ledger(directory).visitKept { row in
            asked += 1
            let isThere = access("\(directory.path)/\(row.name)", F_OK) == 0
            if isThere, outlook.keepers(of: row, isHeld: HoldMark.isSet(of: row.name, in: directory)).isEmpty {
                let time = forecast.time(
                    ofNext: row.bytes, end: row.start + row.duration / 1_000_000, expiry: outlook.expiry(of: row))
                next.append(
                    .init(
                        id: RecordingID.id(of: row.name), name: row.name, bytes: row.bytes,
                        about: time.map { UTCTime(milliseconds: $0).extended }))
            }
            return next.count < Self.mostForecast && asked < Self.mostAsked
        }
        return next
    }

    /// The rate of the file that is being written, in bytes per second: 0 if no file is, and nil if the file has just
    /// begun.
    private static func rate(of open: [RecordingList.Recording]) -> Double? {
        guard let current = open.last(where: { $0.state == .recording }) else { return 0 }
        return current.durationSeconds >= 1 ? Double(current.bytes) / current.durationSeconds : nil
    }
}
