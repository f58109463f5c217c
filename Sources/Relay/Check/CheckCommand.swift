// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Channel
internal import Glibc
internal import Logging

/// `relay check`: tests whether a configuration file will work on this machine, without going live.
struct CheckCommand: BlockingCommand {
    static let configuration = CommandConfiguration(
        commandName: "check", abstract: "Tries what a configuration file needs, without going live.",
        discussion: """
            The HTTP server's address, socket and certificate are tried, inputs are opened, outputs' names are resolved and their servers connected to (TCP and TLS), ports are opened, \
            directories looked at, free space compared with what recordings will take, and the encoder runs for 3 s of \
            program; of several sources 3 s of each are decoded. Nothing is published, recorded or changed. Ports that a \
            running relay holds are warnings.

            Exit status: 0 all is well, 64 the file has mistakes, 69 something would not work.
            """)

    @Flag(help: "Print JSON instead of text.")
    var json = false

    @Argument(help: ArgumentHelp("The configuration file.", valueName: "file"))
    var file: String

    func work() throws {
        // The check runs at the lowest priority, so that a running relay loses no frame.
        setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 19)
        // Log lines are discarded, because the check prints its own results.
        LoggingSystem.bootstrap { _ in SwiftLogNoOpLogHandler() }
        let configuration = try HostConfiguration.forCommand(at: file)
        let report = CheckReport(of: configuration)
        Terminal.put(json ? try RecordingsListing.json(report) : report.text, to: STDOUT_FILENO)
        throw (report.isGood ? ExitStatus.done : .nothingDelivered).code
    }
}

/// The result of `relay check`.
struct CheckReport: Encodable {
    /// The result of one check.
    enum Result: String, Encodable {
        case ok
        /// The check found only a possible problem, or could not test the subject.
        case warning
        case failed
    }

    /// The result for one subject. A subject is a part that a channel needs, such as an input.
    struct Row: Encodable {
        /// The channel's name; `-` for a subject that all channels share.
        let channel: String
        /// The subject, such as `http`, `input`, `output two` (the output with the name `two`), `recording` or
        /// `encoder`.
        let subject: String
        let result: Result
        /// What the check found, as a sentence without secrets.
        let text: String
    }

    /// The results in the order of the checks.
    let rows: [Row]

    /// Tests everything that `configuration` needs: the HTTP server, and then the channels. Blocks.
    init(of configuration: HostConfiguration) {
        let resources = HostResources()
        rows =
            ControlCheck(settings: configuration.http).rows()
            + configuration.channels.flatMap { ChannelCheck($0.configuration, resources: resources).rows() }
    }

    /// Whether no check failed; warnings do not count.
    var isGood: Bool { rows.allSatisfy { $0.result != .failed } }

    /// The report as text for people: one line for each row, in columns.
    var text: String {
        let columns = rows.map { [$0.channel, $0.subject, $0.result.rawValue] }
        let widths = (0..<3).map { column in columns.map { $0[column].count }.max() ?? 0 }
        let lines = zip(columns, rows).map { cells, row in
            let padded = zip(cells, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }
            return (padded + [row.text]).joined(separator: "  ") + "\n"
        }
        return lines.joined()
    }
}
