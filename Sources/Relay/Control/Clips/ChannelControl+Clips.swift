// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Catalogue
internal import Control
internal import Media
internal import Program
internal import Segmenter

extension ChannelControl {
    /// What clips of the channel are made of.
    var clipped: ClipBook.Source {
        ClipBook.Source(
            recorded: { [weak self] () throws(ControlFailure) in try self?.recorded() ?? [] },
            begin: { [weak self] () throws(ControlFailure) in try self?.recordClips() },
            end: { [weak self] in try? self?.open().stopClips() })
    }

    /// What is being recorded now, the program's recording first.
    private func recorded() throws(ControlFailure) -> [ClipBook.Recorded] {
        let channel = try open()
        let status = channel.status
        var recorded: [ClipBook.Recorded] = []
        if let recording = channel.recordings.current, recording.format != .ts, let stretch = recording.stretch {
            recorded.append(Self.recorded(stretch, status, isRefused: status.recorder?.state != .recording))
        }
        if let clips = channel.clips.current, let stretch = clips.stretch {
            let isRefused = [.suspended, .failed].contains(clips.status.recorder?.state)
            recorded.append(Self.recorded(stretch, status, isRefused: isRefused, isForClips: true))
        }
        return recorded
    }

    private static func recorded(
        _ stretch: RecordedStretch, _ status: ChannelStatus, isRefused: Bool, isForClips: Bool = false
    ) -> ClipBook.Recorded {
        let rate = status.frameRate
        let position =
            status.passthrough.map {
                TimeBase.nanoseconds.rescale($0.programNanoseconds, to: rate.timeBase, rounding: .down) + 1
            } ?? status.program.position
        let start = TimeBase.nanoseconds.rescale(stretch.start, to: rate.timeBase)
        return ClipBook.Recorded(
            program: .init(run: stretch.run, frames: start..<max(start, position), rate: rate), stretch: stretch,
            refusal: isRefused ? ClipBook.nothingRecorded : nil, isForClips: isForClips)
    }

    /// Records for clips alone. Throws where nothing is kept for that.
    private func recordClips() throws(ControlFailure) {
        let channel = try open()
        guard let recording = configuredRecording, recording.replay != nil else {
            switch channel.recordings.current?.format {
            case nil:
                throw ControlFailure(
                    .conflict, "A clip is a part of a recording, and there is none: start it, or give --replay.")
            case .ts: throw ControlFailure(.conflict, "Clips are made of MP4 recordings, and this one is MPEG-TS.")
            case .hybrid, .fragmented: throw ClipBook.nothingRecorded
            }
        }
        try Self.translating { () throws in try channel.startClips(recording) }
    }
}
