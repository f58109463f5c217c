// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import ArgumentParser
internal import Catalogue
internal import Glibc
internal import Media

/// `relay recordings uploads`: lists the entries of the upload ledger.
struct RecordingsUploadsCommand: RecordingsPartCommand {
    static let configuration = CommandConfiguration(
        commandName: "uploads",
        abstract: "Lists what was handed over, where and when, also files that were deleted since.",
        discussion: """
            Each line has the time in UTC, the size, the SHA-256, the channel, the name of the file, and the place of the \
            copy or the program that was run for it. The last 100,000 of each channel are kept.
            """)

    @OptionGroup var options: RecordingsOptions

    @OptionGroup var span: RecordingsSpan

    @Option(help: ArgumentHelp("List at most this many, the newest.", valueName: "number"))
    var last: Int?

    func work() throws {
        let part = try part ?? (0..<Int64.max, .max)
        try options.withArchive(needsFiles: false) { archive in
            let uploads = try archive.uploads(part.range, limit: part.limit)
            Terminal.put(options.json ? try RecordingsListing.json(uploads) : Self.text(uploads), to: STDOUT_FILENO)
            return .done
        }
    }

    /// Returns one line for each upload.
    static func text(_ uploads: [UploadEntry]) -> String {
        let rows = uploads.map { upload in
            [
                UTCTime(milliseconds: upload.time).extended, ByteSize(bytes: upload.bytes).description,
                upload.sha256 ?? "-", upload.channel, upload.name, upload.place,
            ]
        }
        return rows.isEmpty ? "nothing was handed over\n" : TextTable.text(rows)
    }
}
