// SPDX-License-Identifier: Apache-2.0

internal import Archive

/// Makes a catalogue agree with the files, which are authoritative.
enum CatalogueSync {
    /// Files for which no row can be made, with the reasons.
    typealias Unread = [(name: String, failure: SegmentReadFailure)]

    /// How many rows are written at a time. The number is so small that other users of the database need not wait for a
    /// large archive, and yet large, because the disk must confirm each transaction.
    private static let batch = 500

    /// Adds the closed files of `directory` that `store` does not have, or whose rows are damaged. If `isFull` is set,
    /// reads all files again, except transport streams, and removes the rows of missing files, and of unreadable files
    /// that do not wait for upload. `uploads` contains known upload states, which new rows get. Calls `progress` with
    /// the number of files that were read and the number of files to read.
    static func run(
        _ store: CatalogueStore, _ directory: RecordDirectory, isFull: Bool = false,
        uploads: [String: UploadState] = [:], progress: (Int, Int) -> Void = { _, _ in }
    ) throws -> Unread {
        let files = try directory.recordings().filter { $0.kind == .closed }.map(\.name)
        let living = directory.livingRuns()
        let uploads = uploads.merging(
            try store.removeDamagedRows(uploaded: UploadMark.uploadedChannels(in: directory.path))
        ) { known, _ in known }
        // Removes the rows of files in record directories below this one. Earlier versions of relay added such rows.
        let nested = try directory.nestedArchives().map { $0 + "/" }
        let all = try store.segments()
        let strangers = all.map(\.name).filter { name in nested.contains { name.hasPrefix($0) } }
        if !strangers.isEmpty { try store.remove(strangers) }
        let rowsBefore = all.filter { !strangers.contains($0.name) }
        let known = Set(rowsBefore.map(\.name))
        // If `isFull` is set, files that already have a row are read again, except transport streams: they have no
        // metadata from which a row could be made.
        let wanted = files.filter { !known.contains($0) || isFull && !$0.hasSuffix(RecordFormat.ts.fileExtension) }
        var unread: Unread = []
        var rows: [CatalogueSegment] = []
        for (index, name) in wanted.enumerated() {
            progress(index, wanted.count)
            do throws(SegmentReadFailure) {
                var row = CatalogueSegment(name: name, facts: try SegmentReader.read("\(directory.path)/\(name)"))
                row.upload = uploads[name]
                rows.append(row)
            } catch {
                unread.append((name, error))
            }
            if rows.count == batch {
                try store.put(rows, living: living, andFindGaps: false)
                rows.removeAll(keepingCapacity: true)
            }
        }
        try store.put(rows, living: living, andFindGaps: false)
        if isFull {
            let waiting = rowsBefore.filter { $0.upload == .waiting }.map(\.name)
            let useless = Set(unread.map(\.name)).subtracting(waiting)
            try store.remove(known.subtracting(files).union(useless))
        }
        try store.findGaps(living: living)
        progress(wanted.count, wanted.count)
        return unread
    }
}
