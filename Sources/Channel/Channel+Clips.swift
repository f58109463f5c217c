// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import FanOut
internal import Media

extension Channel {
    /// The bitrate, in bits per second, for which memory is reserved where the stream's own bitrate is unknown.
    private static let unknownBitrate = 40_000_000

    /// Keeps as much of the program in memory as clips reach back according to `recording`, for clips that are taken
    /// while nothing is recorded.
    package func keepReplay(of recording: ChannelConfiguration.Recording?) {
        for encoding in [stream] + program.renditions.map(\.stream) { encoding.keep(.currentGOP) }
        guard let recording, let limits = replayLimits(of: recording) else { return }
        replayed(recording).keep(limits)
    }

    private func replayed(_ recording: ChannelConfiguration.Recording) -> PacketStream {
        program.renditions.first { $0.name == recording.rendition }?.stream ?? stream
    }

    /// Returns room for twice the nominal bitrate, because the real one is higher at times, and for one more GOP.
    private func replayLimits(of recording: ChannelConfiguration.Recording) -> PacketHistory.Limits? {
        guard let replay = recording.replay else { return nil }
        let gop = PacketHistory.Limits.currentGOP
        let video = replayed(recording).description.video?.bitrate ?? 0
        let bytes = Int((replay.inSeconds * Double(video > 0 ? 2 * video : Self.unknownBitrate) / 8).rounded())
        return PacketHistory.Limits(
            duration: replay, longestGOP: gop.longestGOP, maximumBytes: gop.maximumBytes + bytes)
    }

    /// Starts a recording for clips alone: it begins with what is kept in memory. Blocks as
    /// ``startRecording(_:)`` does, and throws what it throws, also where the disk has no room.
    package func startClips(_ configuration: ChannelConfiguration.Recording) throws {
        try clips.start(.replay) {
            var configuration = configuration
            (configuration.format, configuration.sources) = (.hybrid, [])
            let place = try RecordingPlace(configuration, channel: name, logger: logger)
            guard !place.directory.isAwaited else {
                throw ChannelFailure(.cannotRecord, "There is no clip to be taken: the disk is not mounted.")
            }
            var program = try recorded(configuration)
            (program.hasOutputs, program.sources, program.owner) = (false, nil, "\(name) (clips)")
            program.keptBytes = replayLimits(of: configuration)?.maximumBytes ?? 0
            let age = (replayed(configuration).newestTime ?? 0) / 1_000_000 + (program.delay?.inMilliseconds ?? 0)
            program.start = UTCTime(milliseconds: UTCTime.now.milliseconds - age)
            return try Recording(configuration, in: place, of: program)
        }
    }

    /// Ends the recording for clips, if there is one: no clip needs more of it. Returns at once.
    package func stopClips() {
        // There may be no such recording.
        try? clips.stop()
    }
}
