// SPDX-License-Identifier: Apache-2.0

import LibAV
import Logging
import Media
import Synchronization
import TestSupport
import Testing

@testable import Ingest

@Suite("Video and audio that an edit list cuts off", .timeLimit(.minutes(2)))
struct EditListCutTests {
    /// Collects the times of the packets of a source, and waits for its end.
    private final class Collector: PacketSourceSink {
        private let state = Mutex<(packets: [EncodedPacket], isOver: Bool)>(([], false))
        var packets: [EncodedPacket] { state.withLock { $0.packets } }
        var isOver: Bool { state.withLock { $0.isOver } }

        func take(_ packet: EncodedPacket, at arrival: MonotonicInstant) {
            state.withLock { $0.packets.append(packet) }
        }
        func interrupt() {}
        func restart() {}
        func end(failure: String?) { state.withLock { $0.isOver = true } }
    }

    /// The packets of `path` that are copied.
    private func copied(_ path: String, log: CollectedLog) throws -> [EncodedPacket] {
        let source = LibAVPacketSource(InputLocation(path), loops: false, logger: log.logger)
        _ = try source.open()
        let collector = Collector()
        source.start(into: collector)
        try eventually("the file ends") { collector.isOver }
        return collector.packets
    }

    private func clip() throws -> Clip {
        try Clip(
            "-f", "lavfi", "-i", "testsrc2=s=320x180:r=25:d=3", "-c:v", "libx264", "-g", "25", "-bf", "0", "-pix_fmt",
            "yuv420p", suffix: ".mp4")
    }

    @Test("A copy contains no frame that the file's edit list hides, and begins with a keyframe")
    func cutFile() throws {
        let (whole, log) = (try clip(), CollectedLog())
        #expect(try copied(whole.path, log: log).count == 75 && log.lines.isEmpty)
        let cut = try Clip("-ss", "0.5", "-i", whole.path, "-c", "copy", suffix: ".mp4")
        let packets = try copied(cut.path, log: log)
        #expect(packets.count == 50 && packets.first?.isKeyframe == true)
        #expect(packets.allSatisfy { $0.pts >= 0 })
        #expect(log.lines(containing: "cuts the file between two keyframes").count == 1)
    }

    @Test("The frames of a copy carry the rotation of the file")
    func rotation() throws {
        let (whole, log) = (try clip(), CollectedLog())
        let rotated = try Clip(
            "-i", whole.path, "-c", "copy", "-metadata:s:v", "rotate=90", suffix: ".mp4")
        let packets = try copied(rotated.path, log: log)
        #expect(packets.count == 75)
        #expect(packets.allSatisfy { $0.description.displayMatrix == Orientation.counterClockwise.matrix(320, 180) })
        #expect(try copied(whole.path, log: log).allSatisfy { $0.description.displayMatrix == nil })
    }

    @Test("A copy contains no audio that the file's edit list hides, except the packet before the audible audio")
    func cutAudio() throws {
        let (log, whole) = (
            CollectedLog(),
            try Clip(
                "-f", "lavfi", "-i", "testsrc2=s=320x180:r=25:d=3", "-f", "lavfi", "-i", "sine=d=3:r=48000", "-c:v",
                "libx264", "-g", "25", "-bf", "0", "-pix_fmt", "yuv420p", "-c:a", "aac", suffix: ".mp4")
        )
        let cut = try Clip("-ss", "0.5", "-i", whole.path, "-c", "copy", suffix: ".mp4")
        let audio = try copied(cut.path, log: log).filter { $0.track == .audio }
        #expect(audio.count { $0.pts + $0.duration <= 0 } == 1 && audio.count > 100)
        #expect(zip(audio, audio.dropFirst()).allSatisfy { $1.pts - $0.pts == 1024 })
    }

    @Test("Hidden audio of another coding is not copied before the audible audio")
    func audioPreRoll() {
        func packet(_ track: TrackDescription, _ time: Int64) -> EncodedPacket {
            EncodedPacket(of: track, pts: time, dts: time, duration: 1, isKeyframe: true, payload: SharedBytes([0]))
        }
        func track(channels: Int) -> TrackDescription {
            TrackDescription(
                audio: .mp3, format: AudioFormat(sampleRate: 48_000, channels: channels),
                decoderConfiguration: SharedBytes([]))
        }
        let (mono, stereo) = (track(channels: 1), track(channels: 2))
        var preRoll = AudioPreRoll()
        #expect(preRoll.take(packet(mono, 0), isHidden: true).isEmpty)
        #expect(preRoll.take(packet(stereo, 1), isHidden: false).map(\.pts) == [1])
        #expect(preRoll.take(packet(stereo, 2), isHidden: true).isEmpty)
        #expect(preRoll.take(packet(stereo, 3), isHidden: true).isEmpty)
        #expect(preRoll.take(packet(stereo, 4), isHidden: false).map(\.pts) == [3, 4])
        #expect(preRoll.take(packet(stereo, 5), isHidden: false).map(\.pts) == [5])
    }

    @Test("After hidden frames, a copy begins again at the next visible keyframe")
    func atStart() {
        var cut = EditListCut()
        #expect(cut.decide(pts: 0, isKeyframe: true, isHidden: true) == .cutOff)
        #expect(cut.decide(pts: 1, isKeyframe: false, isHidden: true) == .cutOff)
        #expect(cut.decide(pts: 2, isKeyframe: false, isHidden: false) == .undecodable)
        #expect(cut.decide(pts: 3, isKeyframe: true, isHidden: false) == .keep)
        #expect(cut.decide(pts: 4, isKeyframe: false, isHidden: false) == .keep)
    }

    @Test("If hidden frames are presented before a visible keyframe, the copy still has all frames after that keyframe")
    func leading() {
        var cut = EditListCut()
        #expect(cut.decide(pts: 3, isKeyframe: true, isHidden: false) == .keep)
        #expect(cut.decide(pts: 1, isKeyframe: false, isHidden: true) == .cutOff)
        #expect(cut.decide(pts: 6, isKeyframe: false, isHidden: false) == .keep)
    }

    @Test("At the end of an edit, visible frames that refer to hidden frames are not copied")
    func atEnd() {
        var cut = EditListCut()
        #expect(cut.decide(pts: 0, isKeyframe: true, isHidden: false) == .keep)
        #expect(cut.decide(pts: 3, isKeyframe: false, isHidden: true) == .cutOff)
        #expect(cut.decide(pts: 1, isKeyframe: false, isHidden: false) == .undecodable)
        #expect(cut.decide(pts: 6, isKeyframe: true, isHidden: false) == .keep)
    }
}
