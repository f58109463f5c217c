// SPDX-License-Identifier: Apache-2.0

package import Archive
internal import ArgumentParser
internal import Channel
internal import Foundation
internal import Ingest
internal import Media
internal import Segmenter
internal import Upload

extension RecordFormat: ExpressibleByArgument {}

/// The flags of the recorder, of its storage guard, which watches the free space, and of uploads.
struct RecordOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Record files into this directory. Created if missing.", valueName: "dir"))
    var record: String?

    @Option(
        help: ArgumentHelp(
            "Record the program into this directory, too: each recording goes on when the other's disk fails.",
            discussion: """
                The other flags apply to both. If this directory cannot be used, the program goes on air without it, and it \
                is tried again. Files for --upload go to the folder also at the remote. Sources and clips are in the first \
                directory alone.
                """, valueName: "dir"))
    var recordAlso: String?

    @Flag(
        inversion: .prefixedNo,
        help: ArgumentHelp(
            "Whether the directory is on a disk that is mounted: nothing is recorded until it is.",
            discussion: """
                Without it, relay remembers which directories were on another file system than the root directory when it \
                recorded there. --no-record-mount forgets that.
                """))
    var recordMount: Bool?

    @Option(
        help: ArgumentHelp(
            "Start a new file after this time or size, such as 10s, 1h or 2GB. (default: 30m)", valueName: "length"),
        transform: SegmentLength.init(parsing:))
    var segment = RecordOptions.usualLength

    @Option(
        help: ArgumentHelp(
            "Count the length of files from their start, or end them where the clock shows multiples of it.",
            discussion: "With clock, files of 30m begin at every full and half hour. SIGUSR1 begins a new file at once."
        ))
    var segmentAlign: SegmentAlignment = .start

    @Option(
        help: ArgumentHelp(
            "What kind of files: plain MP4 that is fragmented while it is written, MP4 that stays fragmented, or MPEG-TS."
        ))
    var recordFormat: RecordFormat = .hybrid

    @Option(
        help: ArgumentHelp(
            "Names of files, without extension. (default: {channel}_{start}_{sequence})",
            discussion:
                "Also {date}, {time}, {year}, {month}, {day}, {hour}, {minute}, {second}, the forms %Y %m %d %H %M %S %F "
                + "%y %j of strftime, and directories, such as %Y-%m-%d/{channel}_{time}_{sequence}.", valueName: "name"
        ),
        transform: NameTemplate.init(parsing:))
    var recordName: NameTemplate = .standard

    @Option(
        help: ArgumentHelp(
            "The time zone of dates in names and of --segment-align clock, such as Europe/Berlin. (default: UTC)",
            valueName: "name"),
        transform: ArgumentParsing.timeZone)
    var timezone: TimeZone?

    @Flag(
        help: ArgumentHelp(
            "Record each of several --input, too, into files of its own beside the program's.",
            discussion: """
                They are called <channel>-<source> and begin and end with the program's. What a live source sends is \
                recorded as it comes, see --source-coding; other sources are encoded for this as the program is.
                """))
    var recordSources = false

    @Option(
        help: ArgumentHelp(
            "Record the encoding of this --rendition. (default: the program's own)", valueName: "rendition"))
    var recordRendition: String?

    @Option(
        help: ArgumentHelp(
            "How --record-sources records live sources: copy, as they come, or encode, as the program is.",
            discussion: "What cannot be copied is encoded.", valueName: "how"))
    var sourceCoding: SourceCodingChoice = .copy

    @Option(
        help: ArgumentHelp(
            "Keep so much of the program in memory, for clips that are taken while nothing is recorded: 1s to 5m.",
            discussion: "Such a clip is written to a file of its own. (default with --clips-only: 10s)",
            valueName: "time"
        ),
        transform: ArgumentParsing.duration)
    var replay: Duration?

    @Flag(help: "Record nothing but clips into --record, until an operator starts the recording.")
    var clipsOnly = false

    @Option(
        help: ArgumentHelp(
            "When recordings are made durable: never, segment, fragment, or a length of time. (default: 10s)",
            discussion: "A length of time means at the end of each file, too.", valueName: "when"),
        transform: SyncPolicy.init(parsing:))
    var sync: SyncPolicy = .standard

    @Option(
        help: ArgumentHelp(
            "How long the recording is expected to last. (default: --duration, or else 1h)",
            discussion: """
                Recording starts only if twice the space that this takes is free, and this space beside --disk-reserve. \
                Old recordings that may be deleted count as free.
                """, valueName: "time"),
        transform: ArgumentParsing.duration)
    var expect: Duration?

    @Option(
        help: ArgumentHelp("Warn when the disk will be full within this time. (default: 30m)", valueName: "time"),
        transform: ArgumentParsing.duration)
    var diskWarn: Duration?

    @Option(
        help: ArgumentHelp(
            "Stop recording when less than this is free. (default: 1GiB)",
            discussion: """
                The default is at most a tenth of the disk, and at least 60 s of recording. The stream goes on, and \
                recording resumes when space returns.
                """, valueName: "size"),
        transform: ByteSize.init(parsing:))
    var diskReserve: ByteSize?

    @Option(
        help: ArgumentHelp(
            "Copy finished files to this remote of rclone, one at a time.",
            discussion: "What waits is kept in the catalogue and taken up by the next start.",
            valueName: "remote:path"))
    var upload: String?

    @Option(
        help: ArgumentHelp(
            "The most that an upload may use, as rclone's --bwlimit takes it: 10M is 10 MiB/s.", valueName: "rate"))
    var uploadLimit: String?

    @Option(
        help: ArgumentHelp(
            "Run this program for each finished file, instead of an upload.",
            discussion: """
                A path, no arguments and no shell. It learns of the file by environment variables: \
                RELAY_SEGMENT_PATH (absolute), RELAY_SEGMENT_NAME (in the record directory), RELAY_CHANNEL, \
                RELAY_START (UTC, such as 2026-11-21T14:03:10.250Z), RELAY_DURATION (seconds), RELAY_FRAMES, \
                RELAY_BYTES and RELAY_ENDING (rotate, stop, silent, error, disk or recovered).
                """, valueName: "program"))
    var onSegment: String?

    func apply(to configuration: inout ChannelConfiguration, duration: Duration?) throws(TextFailure) {
        let target = try uploadTarget()
        guard let record else {
            guard target == nil else {
                throw TextFailure("\(option: "--upload") and \(option: "--on-segment") need \(option: "--record").")
            }
            guard let flag = given else { return }
            throw TextFailure("\(option: flag) is for recordings: give \(option: "--record") too, or leave it out.")
        }
        guard !record.isEmpty else { throw TextFailure("\(option: "--record") is empty: name a directory.") }
        var recording = ChannelConfiguration.Recording(
            directory: record, length: segment, expected: expect ?? duration ?? .seconds(3600),
            warning: diskWarn ?? .seconds(1800), reserve: diskReserve)
        recording.also = recordAlso
        if recordAlso?.isEmpty == true {
            throw TextFailure("\(option: "--record-also") is empty: name a directory.")
        }
        if let collision = recording.collision {
            throw TextFailure("\(option: "--record-also"): \(collision). Name a directory on another disk.")
        }
        recording.mount = recordMount.map { $0 ? .required : .ignored } ?? .remembered
        recording.format = recordFormat
        recording.template = recordName
        recording.sync = sync
        recording.isClockAligned = segmentAlign == .clock
        if let timezone {
            recording.localOffset = { time in
                timezone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(time.milliseconds) / 1000))
            }
        }
        if upload != nil, !recordName.isDated || !recordName.hasChannel {
            throw TextFailure(
                "\(option: "--upload") must not replace older files at the remote: put {channel} and {start}, or date "
                    + "and time, into "
                    + "\(option: "--record-name").")
        }
        if let replay, !(Duration.seconds(1)...Duration.seconds(300)).contains(replay) {
            throw TextFailure("\(option: "--replay") is from 1s to 5m: it is kept in memory.")
        }
        recording.replay = replay ?? (clipsOnly ? Self.usualReplay : nil)
        recording.isForClips = clipsOnly
        recording.upload = target
        recording.rendition = recordRendition
        configuration.recording = recording
    }

    /// Adds a recording of each source of `configuration` if `--record-sources` is given, and sets the standby of
    /// sources with backups to `hot`. Throws if this is not possible, or if `--source-coding encode` is given without
    /// `--record-sources`.
    func applySources(to configuration: inout ChannelConfiguration) throws(TextFailure) {
        guard recordSources, configuration.recording != nil else {
            guard sourceCoding == .copy else {
                throw TextFailure("\(option: "--source-coding") needs \(option: "--record-sources").")
            }
            return
        }
        guard configuration.hasScenes, !configuration.sources.isEmpty else {
            throw TextFailure("\(option: "--record-sources") is for several \(option: "--input"). Leave it out.")
        }
        guard case .duration = segment else {
            throw TextFailure(
                "\(option: "--record-sources") ends all files at the same frames: give \(option: "--segment") a time, "
                    + "such as 30m."
            )
        }
        guard recordName.hasChannel else {
            throw TextFailure(
                "\(option: "--record-sources") needs names that differ: put {channel} into \(option: "--record-name").")
        }
        for (index, source) in configuration.sources.enumerated() where source.selection.unseen != .hot {
            guard !source.backups.isEmpty else {
                throw TextFailure(
                    "\(option: "--record-sources") needs all of \(source.name) all the time: leave its standby= out.")
            }
            configuration.sources[index].selection.unseen = .hot
        }
        configuration.recording?.sources = configuration.sources.map(\.name)
        if configuration.audioInput != nil { configuration.recording?.sources.append("audio") }
        configuration.recording?.copiesSources = sourceCoding == .copy
        if let long = configuration.recordedNames.first(where: { SegmentName.safe($0) != $0 }) {
            throw TextFailure("\(option: "--record-sources"): \(long) is too long for the name of a file.")
        }
    }

    /// Throws if the name of a recording of `configuration` could be longer than file systems allow.
    func checkNames(of configuration: ChannelConfiguration) throws(TextFailure) {
        for name in configuration.recordedNames {
            do throws(TextFailure) {
                try recordName.checkLength(channel: name)
            } catch {
                throw TextFailure("\(option: "--record-name"): \(error)")
            }
        }
    }

    /// Throws if files must end at certain times of the wall clock but cannot, because the program runs faster than the
    /// clock, because the length of a file is given as a size, or because a day is not a multiple of that length.
    func checkAlignment(isPaced: Bool) throws(TextFailure) {
        guard record != nil, segmentAlign == .clock else { return }
        guard isPaced else {
            throw TextFailure(
                "\(option: "--segment-align") clock needs a program in real time: leave out \(option: "--unpaced").")
        }
        guard case .duration(let length) = segment, WallClockGrid(period: length) != nil else {
            throw TextFailure(
                "\(option: "--segment-align") clock needs a \(option: "--segment") that divides a day into equal "
                    + "parts, such as 10s, 30m or 1h."
            )
        }
    }

    private static let usualLength = SegmentLength.duration(.seconds(1800))
    private static let usualReplay = Duration.seconds(10)

    /// The first flag that has no effect without `--record` and whose value is not the default; nil if there is no such
    /// flag. The flags of uploads are checked elsewhere.
    private var given: String? {
        let flags = [
            ("--record-also", recordAlso != nil), ("--record-mount", recordMount != nil),
            ("--segment", segment != Self.usualLength), ("--segment-align", segmentAlign != .start),
            ("--record-format", recordFormat != .hybrid), ("--record-name", recordName != .standard),
            ("--timezone", timezone != nil), ("--record-sources", recordSources),
            ("--record-rendition", recordRendition != nil), ("--source-coding", sourceCoding != .copy),
            ("--replay", replay != nil), ("--clips-only", clipsOnly),
            ("--sync", sync != .standard), ("--expect", expect != nil),
            ("--disk-warn", diskWarn != nil), ("--disk-reserve", diskReserve != nil),
        ]
        return flags.first { $0.1 }?.0
    }

    private func uploadTarget() throws(TextFailure) -> UploadTarget? {
        if let uploadLimit {
            guard upload != nil else {
                throw TextFailure("\(option: "--upload-limit") is for \(option: "--upload"), which is not given.")
            }
            guard uploadLimit.first?.isNumber == true else {
                throw TextFailure("\(option: "--upload-limit") is a rate such as 10M, for 10 MiB/s.")
            }
        }
        switch (upload, onSegment) {
        case (nil, nil): return nil
        case (nil, let program?): return .command(program)
        case (let text?, nil): return .remote(try RcloneRemote(parsing: text), limit: uploadLimit)
        case (_?, _?):
            throw TextFailure(
                "\(option: "--upload") and \(option: "--on-segment") exclude each other: a program can do both, with "
                    + "rclone."
            )
        }
    }
}

/// How the recordings of live sources are encoded.
enum SourceCodingChoice: String, ExpressibleByArgument, CaseIterable {
    /// The packets of the sources are copied. A source whose packets cannot be copied is encoded.
    case copy
    /// The sources are encoded like the program.
    case encode
}

/// The times at which recorded files end.
enum SegmentAlignment: String, ExpressibleByArgument, CaseIterable {
    /// Files end at multiples of their length, counted from the start of the recording.
    case start
    /// Files end when the wall clock shows a multiple of their length.
    case clock
}
