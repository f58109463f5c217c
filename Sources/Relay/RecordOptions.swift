// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Segmenter

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

    func apply(to configuration: inout ChannelConfiguration, duration: Duration?) throws {
        guard let record else { return }
        guard !record.isEmpty else { throw ValidationError("--record is empty: name a directory.") }
        configuration.recording = .init(
            directory: record, length: segment, expected: duration ?? expect ?? .seconds(3600),
            warning: diskWarn ?? .seconds(1800), reserve: diskReserve)
    }
}
