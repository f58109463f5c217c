// SPDX-License-Identifier: Apache-2.0

import Media
import Testing

@testable import Ingest
@testable import SourceClock

/// Tests the program times of packets that are passed through.
@Suite struct PacketTimelineTests {
    private static let video = videoTrack()
    private static let audio = TrackDescription(
        audio: .aac, format: .program, timeBase: .milliseconds, decoderConfiguration: SharedBytes([0x11, 0x90]),
        frameLength: 1024)

    private static func videoTrack(configuration: [UInt8] = [1, 2, 3]) -> TrackDescription {
        TrackDescription(
            video: .h264,
            frames: FrameFormat(width: 320, height: 180, sampleAspectRatio: .square, color: .bt709),
            timeBase: .milliseconds, decoderConfiguration: SharedBytes(configuration))
    }

    private func timeline(_ video: TrackDescription? = Self.video, bits: Int? = nil) -> PacketTimeline {
        PacketTimeline(
            PacketSourceDescription(
                stream: StreamDescription(video: video, audio: Self.audio), canWait: true,
                clock: SourceClockSettings(arrivals: .none, latency: .zero), stampBits: bits))
    }

    /// A frame of 40 ms; times are in milliseconds.
    private func frame(
        _ dts: Int64, shown pts: Int64? = nil, isKeyframe: Bool = false, of track: TrackDescription = Self.video
    ) -> EncodedPacket {
        EncodedPacket(
            of: track, pts: pts ?? dts, dts: dts, duration: 40, isKeyframe: isKeyframe, payload: SharedBytes([1]))
    }

    private func audioFrame(_ time: Int64) -> EncodedPacket {
        EncodedPacket(
            of: Self.audio, pts: time, dts: time, duration: 21, isKeyframe: true, payload: SharedBytes([2]))
    }

    /// Whether `packets` are decoded at `times`, in milliseconds, except for the rounding of timestamps to whole
    /// milliseconds, because packets on air have finer time bases.
    private func are(_ packets: [EncodedPacket], at times: [Int64]) -> Bool {
        packets.count == times.count
            && zip(packets, times).allSatisfy { abs(Self.milliseconds($0.dts, of: $0) - Double($1)) < 0.55 }
    }

    private static func milliseconds(_ time: Int64, of packet: EncodedPacket) -> Double {
        Double(packet.timeBase.duration(time).inNanoseconds) / 1e6
    }

    /// The packets that go on air as a result of `packets`, which all arrive at once.
    private func take(_ packets: [EncodedPacket], by timeline: inout PacketTimeline) -> [EncodedPacket] {
        packets.flatMap { timeline.take($0, at: MonotonicInstant(nanoseconds: 0)) }
    }

    @Test("Time 0 is the presentation of the first keyframe, and earlier frames and audio are dropped")
    func begin() {
        var timeline = timeline()
        let packets = [
            frame(1000), audioFrame(1000), audioFrame(1021), audioFrame(1042),
            frame(1040, shown: 1120, isKeyframe: true),
        ]
        let taken = take(packets + [audioFrame(1063), frame(1080)], by: &timeline)
        // Audio begins with the packet that is played when the keyframe is decoded.
        #expect(taken.map(\.track) == [.audio, .audio, .video, .audio])
        #expect(are(taken, at: [-99, -78, -80, -57]))
        #expect(taken[2].pts == 0 && taken[2].isKeyframe)
        #expect(timeline.counts.undecodableFrames == 2, "one before the keyframe, and one that is shown before it")
    }

    @Test("Audio without video begins at time 0 and keeps all of the sender's intervals")
    func radio() {
        var timeline = timeline(nil)
        let taken = take([5000, 5021, 5043, 5064].map(audioFrame), by: &timeline)
        #expect(are(taken, at: [0, 21, 43, 64]))
    }

    @Test(
        "If one track of a file pauses for 16 s while the other continues, its later packets keep their times",
        arguments: [TrackKind.video, .audio])
    func awayInFile(track: TrackKind) {
        var timeline = timeline()
        #expect(take([frame(0, isKeyframe: true), audioFrame(0)], by: &timeline).count == 2)
        _ = take((1..<400).map { track == .video ? audioFrame($0 * 40) : frame($0 * 40) }, by: &timeline)
        let back = take([track == .video ? frame(16_000, isKeyframe: true) : audioFrame(16_000)], by: &timeline)
        #expect(are(back, at: [16_000]))
    }

    @Test("If a track stops while the other continues, this is reported once, as are its return and a jump in time")
    func silence() {
        var timeline = PacketTimeline(
            PacketSourceDescription(
                stream: StreamDescription(video: Self.video, audio: Self.audio), canWait: false, clock: .rtmp,
                stampBits: 32))
        var told: [SourceClockEvent] = []
        func run(_ times: Range<Int64>, hasVideo: Bool, later: Int64 = 0) {
            for time in stride(from: times.lowerBound, to: times.upperBound, by: 20) {
                let arrival = MonotonicInstant(nanoseconds: time * 1_000_000)
                if hasVideo, time % 40 == 0 {
                    _ = timeline.take(frame(time + later, isKeyframe: time % 1000 == 0), at: arrival)
                }
                _ = timeline.take(audioFrame(time + later), at: arrival)
                told += timeline.takeEvents()
            }
        }
        run(0..<5000, hasVideo: true)
        #expect(told == [] && timeline.silentTracks == [])
        run(5000..<10_000, hasVideo: false)
        #expect(told == [.silent(.video)] && timeline.silentTracks == [.video])
        run(10_000..<12_000, hasVideo: true)
        #expect(told == [.silent(.video), .resumed(.video)] && timeline.silentTracks == [])
        run(12_000..<14_000, hasVideo: true, later: 100_000)
        #expect(told.count == 3, "\(told)")
        guard case .jumped = told.last else {
            Issue.record("\(told)")
            return
        }
        // A sender that returns begins with its video.
        run(20_000..<20_500, hasVideo: true, later: 100_000)
        let video = frame(120_500, isKeyframe: true)
        _ = timeline.take(video, at: MonotonicInstant(nanoseconds: 30_000_000_000))
        run(30_300..<32_000, hasVideo: true, later: 90_200)
        told += timeline.takeEvents()
        #expect(!told.dropFirst(3).contains { if case .silent = $0 { true } else { false } }, "\(told)")
    }

    @Test("Timestamps that count whole frames are converted to 90 kHz")
    func wholeFrames() {
        let track = Self.video.timed(in: TimeBase(1, 25))
        var timeline = timeline(track)
        let frames = (100..<103).map { number in
            EncodedPacket(
                of: track, pts: number, dts: number, duration: 1, isKeyframe: number == 100, payload: SharedBytes([1]))
        }
        let taken = take(frames, by: &timeline)
        #expect(taken.map(\.pts) == [0, 3600, 7200] && taken.allSatisfy { $0.duration == 3600 })
        #expect(taken.allSatisfy { $0.timeBase == .mpegTS })
    }

    @Test("Timestamps that wrap at 2^32 cause no jump, and audio stays in sync with video")
    func wrap() {
        let start = Int64(1) << 32 - 100
        var timeline = timeline(bits: 32)
        var packets: [EncodedPacket] = []
        for index in Int64(0)..<20 {
            packets += [frame((start + index * 40) & 0xFFFF_FFFF, isKeyframe: index == 0)]
            packets += [audioFrame((start + 7 + index * 40) & 0xFFFF_FFFF)]
        }
        let taken = take(packets, by: &timeline)
        let (video, audio) = (taken.filter { $0.track == .video }, taken.filter { $0.track == .audio })
        #expect(are(video, at: Array(stride(from: 0, to: 800, by: 40))))
        #expect(are(audio, at: Array(stride(from: 7, to: 807, by: 40))))
        #expect(timeline.counts == PacketTimeline.Counts())
    }

    @Test("After a sender restarts, its packets begin with a keyframe, and their times continue after the earlier ones")
    func restart() throws {
        var timeline = timeline()
        let before = take(
            (0..<10).flatMap { [frame($0 * 40, isKeyframe: $0 == 0), audioFrame($0 * 40)] }, by: &timeline)
        timeline.restart()
        // The new sender's stamps are unrelated to the old ones; the first frames of an open GOP cannot be decoded.
        let after = take(
            [
                frame(90_000), frame(90_040, shown: 90_120, isKeyframe: true), frame(90_080, shown: 90_080),
                frame(90_120, shown: 90_160), audioFrame(90_125),
            ], by: &timeline)
        #expect(after.map(\.track) == [.video, .video, .audio] && after[0].isKeyframe)
        #expect(timeline.counts.undecodableFrames == 2)
        for track in [TrackKind.video, .audio] {
            let times = (before + after).filter { $0.track == track }.map(\.dts)
            #expect(zip(times, times.dropFirst()).allSatisfy { $0 < $1 }, "\(track): \(times)")
        }
        let (audio, video) = (after[2], after[0])
        let distance = Self.milliseconds(audio.pts, of: audio) - Self.milliseconds(video.pts, of: video)
        #expect(abs(distance - 5) < 0.55, "audio stays where its sender has it")
    }

    @Test("If a reopened playlist repeats packets, none goes on air twice, and frames behind them need no keyframe")
    func repeated() throws {
        var settings = SourceClockSettings.file
        settings.repeats = .seconds(4)
        var timeline = PacketTimeline(
            PacketSourceDescription(
                stream: StreamDescription(video: Self.video, audio: Self.audio), canWait: true, clock: settings,
                stampBits: nil))
        let packets = (0..<60).flatMap { [frame($0 * 40, isKeyframe: $0 % 25 == 0), audioFrame($0 * 40)] }
        let before = take(Array(packets[..<80]), by: &timeline)
        timeline.restart()
        // The segment that began at 1 s is read again.
        let after = take(Array(packets[50...]), by: &timeline)
        #expect(before.count == 80 && after.count == 40)
        for track in [TrackKind.video, .audio] {
            let times = (before + after).filter { $0.track == track }.map { Self.milliseconds($0.pts, of: $0) }
            let steps = zip(times.dropFirst(), times).map { $0 - $1 }
            #expect(steps.allSatisfy { abs($0 - 40) < 1 }, "\(track): \(steps)")
        }
        #expect(timeline.counts == PacketTimeline.Counts())
    }

    @Test("A track description with the same content is reused, and one with other content makes a new track")
    func descriptions() throws {
        var timeline = timeline()
        let (same, other) = (Self.videoTrack(), Self.videoTrack(configuration: [1, 2, 4]))
        let tracks = [Self.video, same, other, same]
        let packets = tracks.enumerated().map { frame(Int64($0.offset) * 40, isKeyframe: true, of: $0.element) }
        let taken = take(packets, by: &timeline)
        try #require(taken.count == 4)
        #expect(taken[0].description === taken[1].description)
        #expect(taken[2].description !== taken[1].description && taken[3].description !== taken[2].description)
        let configurations = [Self.video, Self.video, other, same].map(\.decoderConfiguration.array)
        #expect(taken.map(\.description.decoderConfiguration.array) == configurations)
    }

    @Test("Before the first keyframe only the newest audio packets are kept")
    func preRoll() {
        var timeline = timeline()
        let audio = (0..<5000).map { time in
            EncodedPacket(
                of: Self.audio, pts: time, dts: time, duration: 1, isKeyframe: true, payload: SharedBytes([2]))
        }
        #expect(take(audio, by: &timeline).isEmpty)
        let taken = take([frame(3500, shown: 5000, isKeyframe: true)], by: &timeline)
        #expect(taken.count == 1001 && taken.last?.track == .video && are(Array(taken.prefix(1)), at: [-1000]))
    }
}
