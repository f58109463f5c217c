// SPDX-License-Identifier: Apache-2.0

internal import Encoder
internal import Media

/// The encoder of a program that no clock paces. Before each frame the sink waits until the recordings have room. So if
/// a disk is slower than the encoder, the program runs more slowly, and no frames are dropped.
final class RecorderPacedSink: ProgramSink {
    private let encoder: EncoderSession
    private let recordings: ChannelRecordings
    private let heartbeat: Heartbeat

    /// Creates the sink. `heartbeat` is the program's; it is suspended while the sink waits for the disk.
    init(encoder: EncoderSession, recordings: ChannelRecordings, heartbeat: Heartbeat) {
        self.encoder = encoder
        self.recordings = recordings
        self.heartbeat = heartbeat
    }

    func encode(_ frame: VideoFrame, at index: Int64) throws {
        heartbeat.resting { recordings.waitForRoom() }
        try encoder.encode(frame, at: index)
    }

    func encode(_ audio: AudioBuffer) throws { try encoder.encode(audio) }

    func finish() throws { try encoder.finish() }
}
