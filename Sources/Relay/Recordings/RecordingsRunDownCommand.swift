// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import ArgumentParser
internal import Catalogue
internal import Foundation
internal import Library
internal import MP4

/// `relay recordings rundown`: writes what a program of several sources showed as a run-down (a list of segments that
/// play one after the other).
struct RecordingsRunDownCommand: BlockingCommand {
    static let configuration = CommandConfiguration(
        commandName: "rundown", abstract: "Writes what a program of several sources showed as a run-down.",
        discussion: """
            It says frame by frame which scene was on air, and how it came there. Edit it, and render it again from the \
            recordings of the sources (--record-sources): its first lines say how.

            With --from and --to, it reads only what the catalogue has of that time, if the catalogue has all of it. That \
            takes as long in an archive of 50,000 files as in one of 500.

            Example:
              relay recordings rundown recordings --from 2026-11-21T14:03:10Z --to +14:27 -o show.yaml
            """)

    @OptionGroup var options: RecordingsOptions

    @Option(help: ArgumentHelp("The first moment, in UTC. (default: the first that is recorded)", valueName: "time"))
    var from: String?

    @Option(help: ArgumentHelp("The moment behind the last one, or +LENGTH, such as +14:27.", valueName: "time"))
    var to: String?

    @Option(help: "The channel, where the directory holds several.")
    var channel: String?

    @Option(name: .shortAndLong, help: ArgumentHelp("The file to make. (default: standard output)", valueName: "file"))
    var output: String?

    func validate() throws { _ = try ExportRange.optional(from: from, to: to) }

    func work() throws {
        let limits = try ExportRange.optional(from: from, to: to)
        try options.withArchive { archive in
            let (contents, show) = try show(in: archive, limits)
            for note in contents.notes { Terminal.put("note: \(note)\n") }
            let (from, to) = (show.range.lowerBound, show.range.upperBound)
            let text = show.text(
                directory: options.directory, from: UTCTime(milliseconds: from).extended,
                to: UTCTime(milliseconds: to).extended, size: size(of: show.channel, contents.segments))
            guard let output else {
                Terminal.put(text, to: STDOUT_FILENO)
                return .done
            }
            do {
                try Data(text.utf8).write(to: URL(fileURLWithPath: output), options: .withoutOverwriting)
            } catch {
                Terminal.put("Error: \(output) cannot be written: \((error as NSError).localizedDescription)\n")
                return .cannotRecord
            }
            return .done
        }
    }

    /// Finds what was on air, and the files of that time. Reads only the part of the catalogue within `limits`, if the
    /// answer is certainly in it; otherwise reads the whole catalogue, and the files that are not in it.
    private func show(
        in archive: RecordingArchive, _ limits: Range<Int64>?
    ) throws -> (RecordingArchive.Contents, RecordedShow) {
        let find = { (contents: RecordingArchive.Contents) in
            try RecordedShow(of: contents.segments, contents.events, channel: channel, limits: limits)
        }
        if let limits, let part = archive.show(in: limits, of: channel), let found = try? find(part) {
            return (part, found)
        }
        let contents = try archive.contents()
        return (contents, try find(contents))
    }

    /// Returns the size of the program's frames, from one of its last three files; nil if none of them can be read.
    private func size(of channel: String, _ segments: [CatalogueSegment]) -> (width: Int, height: Int)? {
        for segment in segments.filter({ $0.channel == channel }).suffix(3).reversed() {
            guard let index = try? SegmentIndex.read("\(options.directory)/\(segment.name)") else { continue }
            return (Int(index.video.size.width), Int(index.video.size.height))
        }
        return nil
    }
}
