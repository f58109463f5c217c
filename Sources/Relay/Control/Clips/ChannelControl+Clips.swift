// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Catalogue
internal import Control
internal import Media
internal import Program
internal import Segmenter

extension ChannelControl {
    /// What is being recorded now. Throws where that is nothing of which clips can be made.
    func recorded() throws(ControlFailure) -> ClipBook.Recorded {
        let channel = try open()
        guard let recording = channel.recordings.current else {
            throw ControlFailure(.conflict, "A clip is a part of a recording, and there is none: start it.")
        }
        guard recording.format != .ts else {
            throw ControlFailure(.conflict, "Clips are made of MP4 recordings, and this one is MPEG-TS.")
        }
        let refusal = ControlFailure(.conflict, "Nothing is recorded at the moment, and so no clip can begin.")
        guard let stretch = recording.stretch else { throw refusal }
        let status = channel.status
        let rate = status.frameRate
        let position =
            status.passthrough.map {
                TimeBase.nanoseconds.rescale($0.programNanoseconds, to: rate.timeBase, rounding: .down) + 1
            } ?? status.program.position
        let start = TimeBase.nanoseconds.rescale(stretch.start, to: rate.timeBase)
        return ClipBook.Recorded(
            program: .init(run: stretch.run, frames: start..<max(start, position), rate: rate), stretch: stretch,
            refusal: status.recorder?.state == .recording ? nil : refusal)
    }
}
