// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import ArgumentParser
internal import Foundation
internal import Glibc
internal import Library
internal import Media

/// `relay ctl export`: makes an MP4 of what was on air between two moments.
struct CtlExportCommand: CtlSubcommand {
    static let configuration = CommandConfiguration(
        commandName: "export", abstract: "Has relay make one MP4 of what was on air between two moments.",
        discussion: """
            The running relay makes it, also of the file that is being written; the clip stays there until it is \
            removed. With -o it is fetched. Ctrl-C leaves the work to go on.
            """)

    private struct Asked: Encodable {
        let channel: String
        let from: String
        let to: String
        let name: String?
    }

    @OptionGroup var options: CtlOptions
    @OptionGroup var channel: CtlChannelOptions

    @Option(help: ArgumentHelp("The first moment, in UTC, such as 2026-11-21T14:03:10.250Z.", valueName: "time"))
    var from: String

    @Option(help: ArgumentHelp("The moment behind the last one, or +LENGTH, such as +14:27.", valueName: "time"))
    var to: String

    @Option(help: "What the clip is called.")
    var name: String?

    @Option(
        name: .shortAndLong, help: ArgumentHelp("The file to fetch it to, which must not exist.", valueName: "file"))
    var output: String?

    func validate() throws { _ = try ExportRange(from: from, to: to) }

    func perform(_ api: ControlAPI) async throws {
        let range = try ExportRange(from: from, to: to).milliseconds
        let path = try await api.path(ofChannel: channel.channel)
        let asked = Asked(
            channel: path.split(separator: "/").last.flatMap { $0.removingPercentEncoding } ?? "",
            from: UTCTime(milliseconds: range.lowerBound).extended,
            to: UTCTime(milliseconds: range.upperBound).extended, name: name)
        try await CtlExportJob(output: output, options: options).make(api) {
            try await api.ask("POST", "/v1/exports", asked)
        }
    }
}

/// Waits for an export, and downloads its file.
struct CtlExportJob {
    private struct Job: Decodable {
        let id: String
        let state: APIWord<ExportJob.State>
        let progress: Double?
        let detail: String?
        let bytes: Int64?
        let url: String?
    }

    private static let step = Duration.milliseconds(300)

    /// The file to write, which must not exist; nil if no file is wanted.
    let output: String?
    let options: CtlOptions

    /// Calls `ask`, which requests an export. Waits until the export is done, downloads its file if ``output`` names
    /// one, and prints where the file is or, with `--json`, relay's description of the job.
    func make(_ api: ControlAPI, _ ask: () async throws -> ControlAPI.Answer) async throws {
        if let output, access(output, F_OK) == 0 {
            throw ControlAPI.Failure(.cannotRecord, "\(output) exists; name another file.")
        }
        var answer = try await ask()
        let bar = ProgressBar()
        var job = try answer.decoded(Job.self)
        let place = "/v1/exports/\(ControlAPI.encoded(job.id))"
        while job.state.known?.isOver == false {
            bar.show("exporting", done: Figure.whole((job.progress ?? 0) * 1000), of: 1000)
            try await Task.sleep(for: Self.step)
            answer = try await api.ask("GET", place)
            job = try answer.decoded(Job.self)
        }
        bar.clear()
        guard job.state.known == .done else {
            throw ControlAPI.Failure(.refused, job.detail ?? "The export is \(job.state).")
        }
        if let output { try await fetch(place + "/file", to: output, api) }
        let size = job.bytes.map { "  \(ByteSize(bytes: $0))" } ?? ""
        let made = PrintedText.escaped(output ?? job.url ?? place + "/file")
        Terminal.put(options.json ? answer.text + "\n" : "\(made)\(size)\n", to: 1)
    }

    private func fetch(_ path: String, to output: String, _ api: ControlAPI) async throws {
        let descriptor = open(output, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw Self.failure(output) }
        defer { close(descriptor) }
        let bar = ProgressBar()
        var done: Int64 = 0
        do {
            try await api.stream(path) { bytes, length in
                var rest = bytes[...]
                while !rest.isEmpty {
                    let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
                    guard count > 0 else { throw Self.failure(output) }
                    rest = rest.dropFirst(count)
                }
                done += Int64(bytes.count)
                bar.show("fetching", done: done, of: length ?? 0)
                return true
            }
            bar.clear()
        } catch {
            bar.clear()
            unlink(output)
            throw error
        }
    }

    private static func failure(_ output: String) -> ControlAPI.Failure {
        ControlAPI.Failure(.cannotRecord, "\(output) cannot be written: \(String(cString: strerror(errno))).")
    }
}
