// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Segmenter
internal import Upload

/// The flags of the recorder and its storage guard.
struct RecordOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Record MP4 files into this directory. Created if missing.", valueName: "dir"))
    var record: String?

    @Option(
        help: ArgumentHelp(
            "Start a new file after this time or size, such as 10s, 30m, 1h or 2GB.", valueName: "length"),
        transform: ArgumentParsing.segmentLength)
    var segment: SegmentLength = .duration(.seconds(1800))

    @Option(
        help: ArgumentHelp(
            "How long the recording is expected to last. (default: --duration, or else 1h)",
            discussion: "Recording starts only if twice the space that this takes is free.", valueName: "time"),
        transform: ArgumentParsing.duration)
    var expect: Duration?

    @Option(
        help: ArgumentHelp("Warn when the disk will be full within this time. (default: 30m)", valueName: "time"),
        transform: ArgumentParsing.duration)
    var diskWarn: Duration?

    @Option(
        help: ArgumentHelp(
            "Stop recording when less than this is free. (default: 1GiB, or 60 s of recording if that is more)",
            discussion: "The stream goes on, and recording resumes when space returns.", valueName: "size"),
        transform: ArgumentParsing.byteSize)
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
                A path, no arguments and no shell. It learns of the file by RELAY_SEGMENT_PATH and other variables; see \
                the README.
                """, valueName: "program"))
    var onSegment: String?

    func apply(to configuration: inout ChannelConfiguration, duration: Duration?) throws {
        let target = try uploadTarget()
        guard let record else {
            guard target == nil else { throw ValidationError("--upload and --on-segment need --record.") }
            return
        }
        guard !record.isEmpty else { throw ValidationError("--record is empty: name a directory.") }
        configuration.recording = .init(
            directory: record, length: segment, expected: duration ?? expect ?? .seconds(3600),
            warning: diskWarn ?? .seconds(1800), reserve: diskReserve, upload: target)
    }

    private func uploadTarget() throws -> UploadTarget? {
        if let uploadLimit {
            guard upload != nil else { throw ValidationError("--upload-limit is for --upload, which is not given.") }
            guard uploadLimit.first?.isNumber == true else {
                throw ValidationError("--upload-limit is a rate such as 10M, for 10 MiB/s.")
            }
        }
        switch (upload, onSegment) {
        case (nil, nil): return nil
        case (nil, let program?): return .command(program)
        case (let text?, nil):
            do throws(UploadRefusal) {
                return .remote(try RcloneRemote(parsing: text), limit: uploadLimit)
            } catch {
                throw ValidationError(error.description)
            }
        case (_?, _?):
            throw ValidationError("--upload and --on-segment exclude each other: a program can do both, with rclone.")
        }
    }
}
