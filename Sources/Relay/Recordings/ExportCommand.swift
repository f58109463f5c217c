// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import ArgumentParser
internal import Catalogue
internal import Glibc
internal import Library
internal import Media
internal import Networking
internal import Stitcher

/// `relay recordings export`: makes MP4 files of what was on air between two moments.
struct RecordingsExportCommand: BlockingCommand {
    static let configuration = CommandConfiguration(
        commandName: "export", abstract: "Makes one MP4 of what was on air between two moments.",
        discussion: """
            Copies what was recorded, across files, without coding it again; so the clip begins with the keyframe before \
            --from, and may end a frame or two after --to. It says by how much. --exact codes the frames between \
            --from and the next keyframe again, and at the other end at most a few; what relay did not encode is stitched for it.

            Where nothing was recorded, the last frame stays and there is no audio, so that all times are right.

            Files that do not go with each other (other settings of the encoder, another size, frame rate or audio) and MPEG-TS \
            are stitched, as relay stitch does: what differs from the first is coded again. It says so. A hole of more than \
            12 hours is refused then; --join leaves holes out.

            --from and --to may be given several times. Each range becomes a clip of its own, clip-1.mp4, clip-2.mp4 and so on; \
            with --join one file is made of all, in which the next frame follows at once where nothing was recorded.

            --scene takes what the catalogue says of several sources: from where a scene, or any scene with a source of \
            that name, begins to come on air to where another one does. Several such times are several ranges. With --channel \
            it is what was recorded of a source meanwhile.

            Examples:
              relay recordings export recordings --from 2026-11-21T14:03:10Z --to +14:27 -o clip.mp4
              relay recordings export recordings --scene cam2 --exact -o cam2.mp4
              relay recordings export recordings --scene cam2 --join --transition fade -o cam2.mp4
            """)

    @OptionGroup var options: RecordingsOptions

    @Option(help: ArgumentHelp("The first moment, in UTC, such as 2026-11-21T14:03:10.250Z.", valueName: "time"))
    var from: [String] = []

    @Option(help: ArgumentHelp("The moment behind the last one, or +LENGTH, such as +14:27.", valueName: "time"))
    var to: [String] = []

    @Option(help: "What was on air of this scene or source, instead of all.")
    var scene: String?

    @Option(name: .shortAndLong, help: ArgumentHelp("The file to make.", valueName: "file"))
    var output: String

    @Option(help: "The channel, where the directory holds several.")
    var channel: String?

    @Flag(help: "Make one file of all ranges, which begin and end with the very frames.")
    var join = false

    @Option(
        help: ArgumentHelp(
            "With --join: how each range comes on, such as fade or wipe-left:0.5s. (default: cut)",
            valueName: "transition"),
        transform: StitchInput.transition)
    var transition: StitchTransition?

    @Flag(help: "Begin and end with the very frames of --from and --to.")
    var exact = false

    @Flag(help: "Replace the output, if it exists.")
    var force = false

    func validate() throws {
        let ranges = try ExportRange.ranges(from: from, to: to)
        if ranges.isEmpty, scene == nil {
            throw ValidationError("Say what to export: give --from and --to, or --scene.")
        }
        if scene != nil, ranges.count > 1 { throw ValidationError("--scene is limited by one --from and --to.") }
        if transition != nil, !join { throw ValidationError("--transition is for --join.") }
        guard !output.isEmpty, !output.hasSuffix("/") else { throw ValidationError("--output names the file to make.") }
    }

    func work() throws {
        let limits = try ExportRange.ranges(from: from, to: to)
        // The limit for descriptors is raised, because all recorded files of a clip are open at the same time.
        DescriptorLimit.raise()
        try options.withArchive { archive in
            guard let scene else {
                let contents = try archive.catalogued(filling: limits, of: channel)
                report(contents.notes)
                return try export(contents, in: archive, limits, of: channel)
            }
            let (contents, found) = try Self.ranges(of: scene, in: archive, channel: channel, limits: limits.first)
            report(contents.notes)
            return try export(contents, in: archive, found.ranges, of: channel ?? found.channel)
        }
    }

    private func report(_ notes: [String]) {
        for note in notes where !options.json { Terminal.put("note: \(note)\n") }
    }

    /// Finds the times at which `scene` was on air, and the files that can contain these times. Reads only the part of
    /// the catalogue within `limits`, if the answer is certainly in it; otherwise reads the whole catalogue, because a
    /// scene can have been on air at any time.
    private static func ranges(
        of scene: String, in archive: RecordingArchive, channel: String?, limits: Range<Int64>?
    ) throws -> (RecordingArchive.Contents, SceneRanges) {
        let find = { (contents: RecordingArchive.Contents) in
            try SceneRanges(
                of: scene, in: contents.segments, events: contents.events, channel: channel, limits: limits)
        }
        if let limits, let part = archive.scenes(in: limits, of: channel), let found = try? find(part) {
            return (part, found)
        }
        let contents = try archive.catalogued()
        return (contents, try find(contents))
    }

    /// Exports one clip for each range or, with `--join`, one clip of all ranges.
    private func export(
        _ contents: RecordingArchive.Contents, in archive: RecordingArchive, _ ranges: [Range<Int64>],
        of channel: String?
    ) throws -> ExitStatus {
        let outputs =
            ranges.count == 1 || join ? [output] : ranges.indices.map { Self.numbered(output, $0 + 1) }
        for output in outputs {
            if let objection = ExportOutput.objection(to: output, recordings: options.directory, replaces: force) {
                Terminal.put("Error: \(objection)\n")
                return .cannotRecord
            }
            let original = try ExportOutput.original(
                of: output, in: archive.names().map { "\(options.directory)/\($0)" })
            if let original {
                Terminal.put("Error: \(output) is the recording \(original); name another file.\n")
                return .cannotRecord
            }
        }
        let selections = try ranges.map {
            try ExportSelection(contents.segments, in: options.directory, channel: channel, range: $0)
        }
        if join {
            return try make(ExportContents(joining: selections, transition: transition), .exact, to: output)
        }
        for (selection, output) in zip(selections, outputs) {
            let status = try make(ExportContents(selection), exact ? .exact : .widened, to: output)
            guard status == .done else { return status }
        }
        return .done
    }

    /// Returns the path with a number, such as `clip-2.mp4` for `clip.mp4`.
    static func numbered(_ path: String, _ number: Int) -> String {
        let name = path.split(separator: "/").last ?? ""
        guard let point = name.lastIndex(of: "."), point != name.startIndex else { return "\(path)-\(number)" }
        return "\(path.dropLast(name[point...].count))-\(number)\(name[point...])"
    }

    private func make(_ contents: ExportContents, _ ends: ExportEnds, to output: String) throws -> ExitStatus {
        var request = StitchRequest(output: output, replaces: force, version: RelayVersion.text)
        request.reserve = ExportOutput.reserve(of: output, recordings: options.directory)
        let (bar, signals) = (ProgressBar(), HeldSignals())
        defer { bar.clear() }
        do {
            let result = try contents.make(
                ends, request, progress: { bar.show("exporting", done: $0, of: $1) },
                isCancelled: { signals.first != nil }
            ) { obstacle, error in
                bar.clear()
                let fate = obstacle == .difference ? " It is coded again where it has to be." : "; it is stitched."
                Terminal.put("note: \(error)\(fate)\n")
            }
            bar.clear()
            for note in result.notes { Terminal.put("note: \(note)\n") }
            Terminal.put(try text(of: result, output), to: STDOUT_FILENO)
            return .done
        } catch let failure as FileFailure {
            bar.clear()
            Terminal.put("Error: \(failure)\n")
            return .cannotRecord
        } catch let failure as ClipFailure where failure.isCancellation {
            bar.clear()
            Terminal.put("The export was cancelled; nothing is left of it.\n")
            throw ExitCode(128 + (signals.first ?? SIGINT))
        }
    }

    private func text(of result: ExportResult, _ output: String) throws -> String {
        switch result.report {
        case .copied(let report): options.json ? try RecordingsListing.json(report) : report.text(output)
        case .stitched(let report): options.json ? try RecordingsListing.json(report) : report.text
        }
    }
}

extension ClipReport {
    /// The result of an export, as text for people.
    func text(_ output: String) -> String {
        var lines = ["\(output): \(VerificationReport.clock(milliseconds * 1_000_000)) from \(start) on"]
        lines[0] += ", \(copiedFrames) frames copied, \(encodedFrames) coded again, of \(files) files"
        if widenedStart > 0 { lines.append("begins \(widenedStart) ms earlier than asked for") }
        if widenedEnd > 0 { lines.append("ends \(widenedEnd) ms later than asked for") }
        if let beingWritten { lines.append("what is being written now, \(beingWritten), is not in it") }
        for gap in gaps { lines.append("nothing was recorded from \(gap.from) to \(gap.to)") }
        return lines.map { $0 + "\n" }.joined()
    }
}
