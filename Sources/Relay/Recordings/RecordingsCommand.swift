// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Catalogue
internal import Glibc

/// `relay recordings`: shows and repairs recordings.
struct RecordingsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "recordings", abstract: "Lists, checks and repairs what was recorded.",
        discussion: """
            Beside the recordings lies a catalogue, .relay.sqlite: every file, and every stretch of the program that is in \
            no file. The files are the truth; what the catalogue lacks is read from them.

            Exit status: 0 all is well, 1 something is missing or wrong, 64 wrong arguments, 66 the directory cannot be \
            read, holds no recordings or none that can be exported, 73 the clip to export cannot be written.
            """,
        subcommands: [
            RecordingsListCommand.self, RecordingsShowCommand.self, RecordingsVerifyCommand.self,
            RecordingsRepairCommand.self, RecordingsRebuildCommand.self, RecordingsExportCommand.self,
            RecordingsRunDownCommand.self, RecordingsUploadsCommand.self,
        ])
}

/// The options of all `recordings` commands.
struct RecordingsOptions: ParsableArguments {
    @Argument(help: ArgumentHelp("The directory that --record named.", valueName: "dir"))
    var directory: String

    @Flag(help: "Print JSON instead of text.")
    var json = false

    /// Passes the archive of the directory to `body`, with a progress bar if standard error is a terminal. Prints a
    /// failure as one sentence, and throws the exit code. A directory without recordings is a failure if `needsFiles`
    /// is set.
    func withArchive(needsFiles: Bool = true, _ body: (RecordingArchive) throws -> ExitStatus) throws {
        let bar = ProgressBar()
        do {
            let archive = try RecordingArchive(directory, needsFiles: needsFiles) {
                bar.show($0.step, done: $0.done, of: $0.total)
            }
            let status = try body(archive)
            bar.clear()
            if status != .done { throw status.code }
        } catch let code as ExitCode {
            bar.clear()
            throw code
        } catch {
            bar.clear()
            Terminal.put("Error: \(error)\n")
            throw ExitStatus.inputUnreadable.code
        }
    }
}

/// The options `--from` and `--to` of commands that list a part of an archive.
struct RecordingsSpan: ParsableArguments {
    @Option(help: ArgumentHelp("List from this moment on, in UTC, such as 2026-11-21T14:03:10Z.", valueName: "time"))
    var from: String?

    @Option(help: ArgumentHelp("List up to this moment, or +LENGTH, such as +1h.", valueName: "time"))
    var to: String?

    /// The part of the archive, as a range of milliseconds since 1970; nil means the whole archive. Throws if the
    /// options are invalid.
    var range: Range<Int64>? { get throws { try ExportRange.optional(from: from, to: to) } }

    func validate() throws { _ = try range }
}

/// A command that lists a part of an archive: the entries between `--from` and `--to`, and only the newest of them if
/// `--last` limits their number.
protocol RecordingsPartCommand: BlockingCommand {
    var span: RecordingsSpan { get }
    var last: Int? { get }
}

extension RecordingsPartCommand {
    func validate() throws {
        if let last, last < 1 { throw ValidationError("--last is at least 1.") }
    }

    /// The part of the archive, in milliseconds since 1970, and the maximum number of entries that are listed; nil
    /// means the whole archive.
    var part: (range: Range<Int64>, limit: Int)? {
        get throws {
            let range = try span.range
            return range == nil && last == nil ? nil : (range ?? 0..<Int64.max, last ?? .max)
        }
    }
}

/// `relay recordings list`: lists files and gaps.
struct RecordingsListCommand: RecordingsPartCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "Lists the files and the gaps between them.",
        discussion: """
            With --from and --to, or with --last, it lists only what the catalogue has of that, which takes as long in an \
            archive of 50,000 files as in one of 500.
            """)

    @OptionGroup var options: RecordingsOptions

    @OptionGroup var span: RecordingsSpan

    @Option(help: ArgumentHelp("List at most this many files, gaps and events, the newest.", valueName: "number"))
    var last: Int?

    func work() throws {
        let part = try part
        try options.withArchive { archive in
            let contents = try part.map { try archive.page($0.range, limit: $0.limit) } ?? archive.contents()
            let listing = RecordingsListing(contents)
            Terminal.put(options.json ? try listing.json() : listing.text, to: STDOUT_FILENO)
            for note in listing.notes where !options.json { Terminal.put("note: \(note)\n") }
            return .done
        }
    }
}

/// `relay recordings show`: shows everything that is known of one file.
struct RecordingsShowCommand: BlockingCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Shows all that is known of one file.")

    @OptionGroup var options: RecordingsOptions

    @Argument(help: ArgumentHelp("The file, as list names it.", valueName: "file"))
    var file: String

    func work() throws {
        try options.withArchive { archive in
            let contents = try archive.contents()
            guard let segment = contents.segments.first(where: { $0.name == file }) else {
                let reason = contents.notes.first { $0.hasPrefix("\(file) ") }
                Terminal.put("Error: \(reason ?? "There is no recording \(file) in \(options.directory).")\n")
                return .inputUnreadable
            }
            let listed = RecordingsListing.Segment(segment)
            Terminal.put(options.json ? try RecordingsListing.json(listed) : listed.text, to: STDOUT_FILENO)
            return .done
        }
    }
}

/// `relay recordings verify`: checks files, and looks for missing frames and samples.
struct RecordingsVerifyCommand: BlockingCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify", abstract: "Checks the files, and that no frame and no sample is missing between them.",
        discussion: """
            Looks at each file's container and tables, at what lies between the files, at the checksums that are known, \
            and at the catalogue. Writes nothing. The last line is the verdict.
            """)

    @OptionGroup var options: RecordingsOptions

    @Flag(help: "Decode everything, too, and count the errors. Takes long.")
    var deep = false

    @Flag(help: "Do not read the files whole to compare their checksums.")
    var noChecksums = false

    func work() throws {
        try options.withArchive { archive in
            let report = try archive.verify(.init(checksums: !noChecksums, isDeep: deep))
            let lines = report.lines.map { $0 + "\n" }.joined()
            let text = options.json ? try RecordingsListing.json(report.verdict) : lines
            Terminal.put(text, to: STDOUT_FILENO)
            return report.isGood ? .done : .recordingsIncomplete
        }
    }
}

/// `relay recordings repair`: completes files that a crash left open, and saves the content of damaged files.
struct RecordingsRepairCommand: BlockingCommand {
    static let configuration = CommandConfiguration(
        commandName: "repair",
        abstract: "Completes files that a crash left open, and saves what damaged ones still hold.",
        discussion: """
            A damaged file stays as it is; what can be saved of it goes to NAME.repaired.mp4 beside it. Files that are \
            being written are left alone.
            """)

    @OptionGroup var options: RecordingsOptions

    func work() throws {
        try options.withArchive { archive in
            let repairs = try archive.repair()
            let lines = repairs.isEmpty ? ["nothing to repair"] : repairs.map { "\($0.file): \($0.text)" }
            let text = options.json ? try RecordingsListing.json(repairs) : lines.map { $0 + "\n" }.joined()
            Terminal.put(text, to: STDOUT_FILENO)
            return repairs.allSatisfy(\.isRepaired) ? .done : .recordingsIncomplete
        }
    }
}

/// `relay recordings rebuild`: makes the catalogue again from the files.
struct RecordingsRebuildCommand: BlockingCommand {
    static let configuration = CommandConfiguration(
        commandName: "rebuild", abstract: "Makes the catalogue again from the files.",
        discussion: "A damaged catalogue is kept as .relay.sqlite.broken-N.")

    @OptionGroup var options: RecordingsOptions

    func work() throws {
        try options.withArchive { archive in
            let result = try archive.rebuild()
            let text =
                "\(result.segments) segments, \(result.gaps) gaps"
                + (result.setAside.map { "; the damaged catalogue is kept as \($0)" } ?? "") + "\n"
            Terminal.put(options.json ? try RecordingsListing.json(result) : text, to: STDOUT_FILENO)
            for note in result.notes where !options.json { Terminal.put("note: \(note)\n") }
            return .done
        }
    }
}
