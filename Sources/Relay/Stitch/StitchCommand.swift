// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import ArgumentParser
internal import Encoder
internal import Glibc
internal import LibAV
internal import Media
internal import Networking
internal import Stitcher
internal import Studio

/// `relay stitch`: joins files, or parts of files, in one file.
struct StitchCommand: BlockingCommand {
    static let configuration = CommandConfiguration(
        commandName: "stitch", abstract: "Makes one MP4 or MOV of many files.",
        discussion: """
            Takes any files that libavformat reads, looks at all of them, and says what it will do: frames are copied where \
            size, rate, color, parameter sets and all else are those of the result, and coded again where not, with the \
            reason. Of a clip that begins or ends within a GOP only the frames up to the next keyframe are coded again.

            The result is as large and as fast as the first clip, unless --size and --fps say otherwise. Each clip's audio \
            stays with its frames; at a join it is faded from one to the other. AAC is copied, too, as --audio says.

            Instead of files, one project may be given: a list of clips in YAML, as docs/stitch.md has it.

            Behind a file may stand options: \(StitchInput.options.map { $0 + "=" }.joined(separator: ", ")).

            Examples:
              relay stitch opening.mp4 show.mp4 end.mp4 -o whole.mp4
              relay stitch "show.mp4#from=10m,to=12m30s" "show.mp4#from=1h,to=1h5m,transition=fade" -o best.mp4
              relay stitch *.mp4 --by-time --size smallest --dry-run

            Exit status: 0 done, 64 wrong flags, 66 a file cannot be read or used, 70 the encoder failed, 73 the result \
            cannot be written; 128 and the signal's number when a signal ended it.
            """)

    @Argument(
        help: ArgumentHelp("The files, in the order of the result, or one project (.yaml, .json).", valueName: "file"))
    var inputs: [String]

    @Option(name: .shortAndLong, help: ArgumentHelp("The file to make.", valueName: "file"))
    var output: String?

    @OptionGroup var options: StitchOptions

    @Flag(help: "Say what would be done, and do nothing.")
    var dryRun = false

    @Flag(help: "Go on with what an interrupted run left, and leave what is done if this one is interrupted.")
    var resume = false

    @Flag(help: "Replace the output, if it exists.")
    var overwrite = false

    @Flag(help: "Print JSON.")
    var json = false

    func check() throws {
        guard dryRun || output != nil else { throw ValidationError("--output names the file to make.") }
        if let output, output.isEmpty || output.hasSuffix("/") {
            throw ValidationError("--output names the file to make.")
        }
        if let objection = output.flatMap(options.objection) { throw ValidationError(objection) }
        if inputs.contains(where: StitchProject.isProject) {
            guard inputs.count == 1 else { throw ValidationError("A project is given alone, without other files.") }
        } else {
            for input in inputs { _ = try StitchInput.clip(input, transition: nil) }
        }
    }

    private func clips() throws -> [StitchClip] {
        guard let project = inputs.first, StitchProject.isProject(project) else {
            return try inputs.map { try StitchInput.clip($0, transition: options.transition) }
        }
        do throws(ConfigurationFailure) {
            return try StitchProject.read(project, transition: options.transition)
        } catch {
            Terminal.put(error.lines.map { "Error: \($0)\n" }.joined())
            throw ExitStatus.usage.code
        }
    }

    func work() throws {
        var request = StitchRequest(
            clips: try clips(), settings: options.settings, order: options.order, output: output ?? "",
            replaces: overwrite, version: RelayVersion.text)
        request.resumes = resume
        request.form = options.form(of: output ?? "")
        request.reserve = options.reserve(for: output ?? "")
        try refuseOutput(request.clips)
        DescriptorLimit.raise()
        let bar = ProgressBar()
        defer { bar.clear() }
        let signals = HeldSignals()
        do {
            let count = Int64(request.clips.count)
            let job = try StitchJob(
                request, looked: { bar.show("looking", done: Int64($0), of: count) },
                isCancelled: { signals.first != nil })
            bar.clear()
            if dryRun || !json {
                let document = StitchDocument(job, output: output)
                let text = json ? try RecordingsListing.json(document) : document.text
                Terminal.put(text, to: dryRun ? STDOUT_FILENO : STDERR_FILENO)
            }
            if !dryRun { try make(job, bar, signals) }
        } catch {
            bar.clear()
            throw try ending(error, signals)
        }
    }

    private func make(_ job: StitchJob, _ bar: ProgressBar, _ signals: HeldSignals) throws {
        let left = TimeLeft()
        let report = try job.run(
            progress: { done, total in
                bar.show("stitching", done: Int64(done), of: Int64(total), note: left.note(done: done, of: total))
            }, isCancelled: { signals.first != nil })
        bar.clear()
        let text = json ? try RecordingsListing.json(report) : report.text
        Terminal.put(text, to: STDOUT_FILENO)
    }

    private func refuseOutput(_ clips: [StitchClip]) throws {
        guard !dryRun, let output, access(output, F_OK) == 0 else { return }
        if let original = ExportOutput.original(of: output, in: clips.map(\.path)) {
            Terminal.put("Error: \(output) is the clip \(original); name another file.\n")
        } else if overwrite {
            return
        } else {
            Terminal.put("Error: \(output) exists; name another file, or replace it with --overwrite.\n")
        }
        throw ExitStatus.cannotRecord.code
    }

    /// Prints why the command ended, and returns its exit status. Throws errors of other kinds again.
    private func ending(_ error: any Error, _ signals: HeldSignals) throws -> ExitCode {
        let status: ExitStatus
        switch error {
        case let failure as ClipFailure where failure.isCancellation:
            Terminal.put(resume ? "It was cancelled; the same command with --resume continues it.\n" : "\(failure)\n")
            return ExitCode(128 + (signals.first ?? SIGINT))
        case is ClipFailure, is AVFailure: status = .inputUnreadable
        case is EncoderError: status = .internalError
        case is FileFailure: status = .cannotRecord
        default: throw error
        }
        Terminal.put("Error: \(error)\n")
        return status.code
    }
}

/// Estimates how long the work will still take.
private struct TimeLeft {
    private let start = ContinuousClock.now

    /// Returns the remaining time in words when `done` of `total` frames are done; empty while it cannot be estimated.
    func note(done: Int, of total: Int) -> String {
        let elapsed = ContinuousClock.now - start
        guard done > 0, elapsed > .seconds(2) else { return "" }
        let rest = Duration.seconds((elapsed.inSeconds * Double(total - done) / Double(done)).rounded(.up))
        return ", \(DurationText(rest)) left"
    }
}
