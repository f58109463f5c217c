// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import ArgumentParser
internal import Foundation
internal import Glibc
internal import Media
internal import Upload

/// `relay diagnose`: collects in one file everything that is needed to report a fault.
struct DiagnoseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "diagnose",
        abstract: "Gathers what a report of a fault needs into one file, without secrets.",
        discussion: """
            Versions, the system, memory and limits, disks and interfaces, the configuration file, and of the relay that \
            runs the status of all channels, the newest events, metrics and what its catalogues say. What may be secret is \
            replaced by ***. It works without a relay that runs, too. Read it before you pass it on.

            Exit status: 0 done, 64 wrong flags, 73 the file cannot be written.
            """)

    /// The configuration file that is read, if it is readable and the command line names none.
    private static let standardFile = "/etc/relay/relay.yaml"

    @OptionGroup var place: CtlPlace

    @Option(
        help: ArgumentHelp(
            "The configuration file. (default: /etc/relay/relay.yaml, if it is there)", valueName: "file"))
    var config: String?

    @Option(name: .shortAndLong, help: ArgumentHelp("The file to make, a .tar.gz.", valueName: "file"))
    var output: String?

    @Flag(help: "Try what the configuration file needs, too, as relay check does. Takes a minute.")
    var check = false

    func run() async throws {
        let api = try place.api()
        let name = "relay-diagnose-\(UTCTime.now.basic.prefix(15))Z"
        let output = output ?? "\(name).tar.gz"
        guard access(output, F_OK) != 0 else {
            Terminal.put("Error: \(output) exists; name another file.\n")
            throw ExitStatus.cannotRecord.code
        }
        let path = config ?? (access(Self.standardFile, R_OK) == 0 ? Self.standardFile : nil)
        var report = DiagnosticReport()
        report.add("system.txt", DiagnosticSystem.text)
        report.add("process.txt", DiagnosticSystem.processes)
        report.readConfiguration(path)
        let directories = await report.ask(api)
        report.add("disks.txt", DiagnosticSystem.disks(report.directories + directories))
        if check, let path { await report.check(path) }
        let files = report.scrubbed
        do {
            try await Self.pack(files, name: name, to: output)
        } catch {
            Terminal.put("Error: \(output) cannot be written: \(error)\n")
            throw ExitStatus.cannotRecord.code
        }
        Terminal.put("\(output): \(files.count) files. Read them before you pass them on.\n", to: STDOUT_FILENO)
        for note in report.notes { Terminal.put("note: \(note)\n") }
    }

    /// Writes `files`, in a folder called `name`, to the archive `output`. Only its owner can read the archive.
    private static func pack(_ files: [(name: String, text: String)], name: String, to output: String) async throws {
        umask(0o077)
        let parent = NSTemporaryDirectory() + "relay-\(UUID().uuidString)"
        let folder = "\(parent)/\(name)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: parent) }
        for file in files {
            try file.text.write(toFile: "\(folder)/\(file.name)", atomically: false, encoding: .utf8)
        }
        let tar = ChildCommand(
            program: "tar", arguments: ["-czf", ChildCommand.absolute(output), "-C", parent, name], limit: .seconds(60))
        let outcome = try await tar.run()
        guard outcome.isSuccess else {
            throw ChannelFailure(
                .cannotRecord, .makeFile(output), saying: "tar \(outcome.ending): \(outcome.errors)")
        }
    }
}
