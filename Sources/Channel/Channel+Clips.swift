// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import FanOut
internal import Media

extension Channel {
    /// The bitrate, in bits per second, for which memory is reserved if the stream's own bitrate is unknown.
    private static let unknownBitrate = 40_000_000

    /// Keeps as much of the program in memory as the `replay` of `recording` requires, so that clips can be taken while
    /// nothing is recorded.
    package func keepReplay(of recording: ChannelConfiguration.Recording?) {
        for encoding in [stream] + program.renditions.map(\.stream) { encoding.keep(.currentGOP) }
        guard let recording, let limits = replayLimits(of: recording) else { return }
        replayed(recording).keep(limits)
    }

    private func replayed(_ recording: ChannelConfiguration.Recording) -> PacketStream {
        program.renditions.first { $0.name == recording.rendition }?.stream ?? stream
    }

    /// Returns limits with room for twice the nominal bitrate, because the real bitrate is higher at times, and for one
    /// more GOP.
    private func replayLimits(of recording: ChannelConfiguration.Recording) -> PacketHistory.Limits? {
        guard let replay = recording.replay else { return nil }
        let gop = PacketHistory.Limits.currentGOP
        let video = replayed(recording).description.video?.bitrate ?? 0
        let bytes = Int((replay.inSeconds * Double(video > 0 ? 2 * video : Self.unknownBitrate) / 8).rounded())
        return PacketHistory.Limits(
            duration: replay, longestGOP: gop.longestGOP, maximumBytes: gop.maximumBytes + bytes)
    }

    /// Starts a recording for clips alone, which begins with the packets that are kept in memory. Blocks as long as
    /// ``startRecording(_:)`` does, and throws the same errors, among them the one for a disk without room.
    package func startClips(_ configuration: ChannelConfiguration.Recording) throws {
        try clips.start(.replay) {
            var configuration = configuration
            (configuration.format, configuration.sources) = (.hybrid, [])
            let place = try RecordingPlace(configuration, channel: name, logger: logger)
            guard !place.directory.isAwaited else {
                throw ChannelFailure(
                    .cannotRecord, .takeClip(configuration.directory), because: "the disk is not mounted")
            }
            var program = try recorded(configuration)
            (program.hasOutputs, program.sources, program.owner) = (false, nil, "\(name) (clips)")
            program.keptBytes = replayLimits(of: configuration)?.maximumBytes ?? 0
            let age = (replayed(configuration).newestTime ?? 0) / 1_000_000 + (program.delay?.inMilliseconds ?? 0)
            program.start = UTCTime(milliseconds: UTCTime.now.milliseconds - age)
            return try Recording(configuration, in: place, of: program)
        }
    }

    /// Ends the recording for clips, if there is one, because no clip needs more of it. Returns at once.
    package func stopClips() {
        // An error means that there is no recording for clips.
        try? clips.stop()
    }
}
