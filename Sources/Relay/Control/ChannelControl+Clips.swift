// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Catalogue
internal import Channel
internal import FanOut
internal import Library
internal import Media
internal import Program
internal import Segmenter
internal import Status

extension ChannelControl {
    /// The functions through which the channel's clips use the program and its recording.
    var clipped: ClipStore.Source {
        ClipStore.Source(
            newest: { [weak self] in
                guard let status = try? self?.open().status else { return nil }
                return Double(Self.newest(of: status)) / max(0.001, status.frameRate.value)
            },
            recorded: { [weak self] () throws(Refusal) in try self?.recorded() ?? [] },
            begin: { [weak self] () throws(Refusal) in try self?.recordClips() },
            end: { [weak self] in try? self?.open().stopClips() })
    }

    /// Returns the running recordings of which clips can be made: first the program's recording, unless it is MPEG-TS,
    /// then the one that is made only for clips. Throws if the channel is not open, or if the program has no video.
    private func recorded() throws(Refusal) -> [ClipStore.Recorded] {
        let channel = try open()
        guard channel.stream.description.video != nil else {
            throw Refusal(.conflict, "A clip is made of frames, and the program is audio alone.")
        }
        let status = channel.status
        var recorded: [ClipStore.Recorded] = []
        if let recording = channel.recordings.first.current, recording.format != .ts, let stretch = recording.stretch {
            recorded.append(
                Self.recorded(stretch, status, status.recorder?.state, isRefused: status.recorder?.state != .recording))
        }
        // The state is read before the stretch, which is the part of the program that is on the disk. If the state says
        // that recording is suspended, this part no longer grows.
        if let clips = channel.clips.current, case let state = clips.status.recorder?.state, let stretch = clips.stretch
        {
            recorded.append(Self.recorded(stretch, status, state, isRefused: Self.isSuspended(state), isForClips: true))
        }
        return recorded
    }

    /// The number of the program's newest frame.
    private static func newest(of status: ChannelStatus) -> Int64 {
        status.passthrough.map {
            status.frameRate.frame(at: $0.programTime, rounding: .down).number
        } ?? status.program.position - 1
    }

    private static func isSuspended(_ state: RecorderState?) -> Bool { [.suspended, .failed].contains(state) }

    private static func recorded(
        _ stretch: RecordedStretch, _ status: ChannelStatus, _ state: RecorderState?, isRefused: Bool,
        isForClips: Bool = false
    ) -> ClipStore.Recorded {
        let rate = status.frameRate
        let position = newest(of: status) + 1
        let start = rate.frame(at: stretch.start).number
        return ClipStore.Recorded(
            program: .init(run: stretch.run, frames: start..<max(start, position), rate: rate), stretch: stretch,
            refusal: isRefused ? ClipStore.nothingRecorded : nil, isForClips: isForClips,
            isSuspended: isSuspended(state))
    }

    /// Starts a recording that is made only for clips. Throws if relay keeps no packets in memory for clips.
    private func recordClips() throws(Refusal) {
        let channel = try open()
        guard let recording = configuredRecording, recording.replay != nil else {
            switch channel.recordings.first.current?.format {
            case nil:
                throw Refusal(
                    .conflict,
                    "A clip is a part of a recording, and nothing is recorded: start the recording, or give --replay.")
            case .ts: throw Refusal(.conflict, "Clips are made of MP4 recordings, and this one is MPEG-TS.")
            case .hybrid, .fragmented: throw ClipStore.nothingRecorded
            }
        }
        try Self.translating { () throws in try channel.startClips(recording) }
    }
}
