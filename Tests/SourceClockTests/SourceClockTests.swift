// SPDX-License-Identifier: Apache-2.0

import Foundation
import Media
import TestSupport
import Testing

@testable import SourceClock

@Suite("The source clock")
struct SourceClockTests {
    private static let both: [TrackKind: (timeBase: TimeBase, bits: Int?)] = [
        .video: (.milliseconds, 32), .audio: (.milliseconds, 32),
    ]

    /// Feeds a packet; times are milliseconds.
    private func note(
        _ clock: inout SourceClock, _ track: TrackKind, _ dts: Int64, at arrival: Int64, duration: Int64 = 40
    ) -> SourceClock.Noted? {
        clock.note(
            SourceClock.Stamp(track, dts: dts, duration: duration),
            arrival: MonotonicInstant(arrival, in: .milliseconds))
    }

    /// Feeds video and audio packets every 40 ms with these delays in milliseconds; returns all events.
    @discardableResult
    private func feed(
        _ clock: inout SourceClock, from start: Int64, until end: Int64, offset: Int64 = 5000, video: Int64? = 0,
        audio: Int64? = 0
    ) -> [SourceClockEvent] {
        var packets: [(arrival: Int64, track: TrackKind, dts: Int64)] = []
        for time in stride(from: start, to: end, by: 40) {
            if let video { packets.append((time + video, .video, time + offset)) }
            if let audio { packets.append((time + audio, .audio, time + offset)) }
        }
        var events: [SourceClockEvent] = []
        for packet in packets.sorted(by: { $0.arrival < $1.arrival }) {
            events += note(&clock, packet.track, packet.dts, at: packet.arrival)?.events ?? []
        }
        return events
    }

    private func due(_ clock: SourceClock, _ time: Int64, _ track: TrackKind) -> Double? {
        clock.due(Timestamp(time, in: .milliseconds), of: track).map { Double($0.nanoseconds) / 1e6 }
    }

    @Test("Both tracks share one clock mapping, with the configured latency counted from the track that arrives later")
    func laterTrack() throws {
        var clock = SourceClock(.rtmp, tracks: Self.both)
        let events = feed(&clock, from: 0, until: 3000, audio: 800)
        #expect(events.count { if case .placed = $0 { true } else { false } } == 1)
        #expect(clock.status.steps == 0)
        #expect(clock.status.latePackets == 0)
        let video = try #require(due(clock, 8000, .video))
        let audio = try #require(due(clock, 8000, .audio))
        #expect(video == audio)
        #expect(abs(video - (3000 + 800 + 200)) < 1)
        #expect(abs(clock.status.audioBehindVideoMilliseconds - 800) < 1)
    }

    /// Feeds both tracks for `seconds`, the audio 800 ms behind its video and later by 100 ppm; returns all events.
    private func feedLaggingAudio(_ clock: inout SourceClock, seconds: Int64) -> [SourceClockEvent] {
        var events: [SourceClockEvent] = []
        for second in 0..<seconds {
            events += feed(
                &clock, from: second * 1000, until: (second + 1) * 1000, audio: 800 + second / 10)
        }
        return events
    }

    @Test("If audio slowly falls behind its video, the buffer grows without a step", arguments: [false, true])
    func slewsToLargerBuffer(isShared: Bool) throws {
        let common = CommonBuffer()
        var clock = SourceClock(.rtmp, tracks: Self.both, common: isShared ? common : nil)
        // After 50 minutes the audio is 1100 ms behind, 300 ms more than at first, and later than the first buffer.
        let events = feedLaggingAudio(&clock, seconds: 3000)
        #expect(clock.status.steps == 0)
        #expect(!events.contains { if case .stepped = $0 { true } else { false } })
        #expect(clock.status.latePackets == 0)
        let end = try #require(due(clock, 3_000_000 + 5000, .audio))
        #expect((1130..<1250).contains(end - 3_000_000), "\(end - 3_000_000)")
    }

    @Test("No packet gets a program time before both tracks were observed for long enough")
    func collecting() {
        var clock = SourceClock(.rtmp, tracks: Self.both)
        feed(&clock, from: 0, until: 1500, audio: nil)
        #expect(!clock.isPlaced)
        #expect(due(clock, 5000, .video) == nil)
        #expect(clock.line(of: .video) == nil)
        feed(&clock, from: 1500, until: 1800)
        #expect(clock.isPlaced)
    }

    @Test("If one track sends no packets, the other track still starts, and the missing one is reported")
    func missingTrack() {
        var clock = SourceClock(.rtmp, tracks: Self.both)
        let events = feed(&clock, from: 0, until: 4000, audio: nil)
        #expect(clock.isPlaced)
        #expect(events.contains(.silent(.audio)))
    }

    @Test("A source with only one track starts with that track", arguments: [TrackKind.video, .audio])
    func oneTrack(track: TrackKind) {
        var clock = SourceClock(.rtmp, tracks: [track: (.milliseconds, nil)])
        let events = feed(
            &clock, from: 0, until: 1000, video: track == .video ? 0 : nil, audio: track == .audio ? 0 : nil)
        #expect(clock.isPlaced)
        #expect(!events.contains { if case .silent = $0 { true } else { false } })
    }

    @Test("A track that begins later shares the clock mapping, which is shifted once if the track needs more buffer")
    func lateTrack() throws {
        var clock = SourceClock(.rtmp, tracks: Self.both)
        feed(&clock, from: 0, until: 10_000, audio: nil)
        let before = try #require(due(clock, 15_000, .video))
        let events = feed(&clock, from: 10_000, until: 20_000, audio: 600)
        let after = try #require(due(clock, 15_000, .video))
        #expect(events.contains(.joined(.audio)))
        #expect(events.count { if case .stepped = $0 { true } else { false } } == 1)
        #expect(!events.contains { if case .late = $0 { true } else { false } })
        #expect(abs(after - before - 600) < 2)
        #expect(due(clock, 15_000, .audio) == after)
    }

    @Test("If the next sender adds audio, the source waits for that audio, and frames are not shifted later")
    func declaredLater() {
        var clock = SourceClock(.rtmp, tracks: [.video: (.milliseconds, 32)])
        feed(&clock, from: 0, until: 2000, audio: nil)
        #expect(clock.isPlaced)
        clock.declare(.audio, .milliseconds, bits: 32)
        feed(&clock, from: 2000, until: 4000)
        clock.restart()
        feed(&clock, from: 4000, until: 5200, audio: nil)
        #expect(!clock.isPlaced)
        feed(&clock, from: 5200, until: 6600, audio: 600)
        #expect(clock.isPlaced && clock.status.steps == 0)
    }

    @Test("If packets arrive in a burst at the start, no delay is added")
    func startBurst() throws {
        var clock = SourceClock(.rtmp, tracks: Self.both)
        for time in stride(from: Int64(0), to: 2000, by: 40) {
            _ = note(&clock, .video, time, at: 2000)
            _ = note(&clock, .audio, time, at: 2000)
        }
        feed(&clock, from: 2000, until: 4000, offset: 0)
        #expect(clock.status.jumps == 0)
        #expect(clock.status.steps == 0)
        let video = try #require(due(clock, 4000, .video))
        #expect(abs(video - 4200) < 1)
    }

    @Test("A gap in the burst at the start does not count as a jump of the timestamps")
    func holeInBurst() {
        var clock = SourceClock(.rtmp, tracks: Self.both)
        for time in stride(from: Int64(0), to: 3000, by: 40) where !(1000..<2000).contains(time) {
            _ = note(&clock, .video, time, at: 3000)
        }
        for time in stride(from: Int64(0), to: 3000, by: 40) { _ = note(&clock, .audio, time, at: 3000) }
        feed(&clock, from: 3000, until: 5000, offset: 0)
        #expect(clock.status.jumps == 0)
    }

    @Test("A playlist's first packet gets its program time at once, and the first burst becomes its buffer")
    func playlist() throws {
        var clock = SourceClock(.playlist(target: .seconds(6)), tracks: Self.both)
        _ = note(&clock, .video, 0, at: 100)
        let noted = note(&clock, .audio, 0, at: 100)
        let first = try #require(noted)
        #expect(clock.isPlaced)
        #expect(first.events.contains { if case .placed = $0 { true } else { false } })
        let due = try #require(clock.due(first.time, of: .audio))
        #expect(abs(Double(due.nanoseconds) / 1e6 - 140) < 1)
        let later = try #require(clock.due(5_000_000_000, of: .video))
        #expect(clock.decoding(of: later) == later - .seconds(1))
        for time in stride(from: Int64(40), to: 6000, by: 40) {
            let noted = note(&clock, .video, time, at: 100)
            #expect(noted?.events == [])
        }
    }

    @Test("A playlist of short segments begins later, so that at least six seconds of segments are buffered")
    func shortSegments() throws {
        for (target, latency) in [(1, 2000.0), (2, 500), (3, 0)] {
            var clock = SourceClock(.playlist(target: .seconds(target)), tracks: Self.both)
            let noted = [note(&clock, .video, 0, at: 100), note(&clock, .audio, 0, at: 100)]
            let first = try #require(noted[1])
            let due = try #require(clock.due(first.time, of: .audio))
            #expect(abs(Double(due.nanoseconds) / 1e6 - max(140, 100 + latency)) < 1)
        }
    }

    @Test("After a playlist is reopened with longer segments, pauses between them do not count as silence")
    func longerSegments() {
        var clock = SourceClock(.playlist(target: .seconds(2)), tracks: Self.both)
        for time in stride(from: Int64(0), to: 6000, by: 40) { _ = note(&clock, .video, time, at: 6000) }
        clock.restart(as: .playlist(target: .seconds(10)))
        #expect(clock.settings.patience == .seconds(21))
        var events: [SourceClockEvent] = []
        for time in stride(from: Int64(100_000), to: 110_000, by: 40) {
            events += note(&clock, .video, time, at: 120_000)?.events ?? []
            events += note(&clock, .audio, time, at: 120_000)?.events ?? []
        }
        events += clock.advance(to: 138_000_000_000)
        #expect(!events.contains { if case .silent = $0 { true } else { $0 == .lost } }, "\(events)")
    }

    @Test("If capture times are known, packets are due the configured latency after capture, whenever they arrive")
    func captureTime() throws {
        var clock = SourceClock(.device(stampsAreMonotonic: true), tracks: Self.both)
        feed(&clock, from: 1000, until: 4000, offset: 0, video: 35, audio: 12)
        let video = try #require(due(clock, 4000, .video))
        #expect(abs(video - 4080) < 0.01)
        #expect(due(clock, 4000, .audio) == video)
        #expect(clock.stretch(of: .audio) == 0)
    }

    @Test("If a device's timestamps have no common origin, its tracks are synchronized by arrival")
    func unrelatedDevices() throws {
        var clock = SourceClock(.device(stampsAreMonotonic: false), tracks: Self.both)
        var events: [SourceClockEvent] = []
        for time in stride(from: Int64(0), to: 3000, by: 40) {
            events += note(&clock, .video, time + 7_000_000, at: time + 20)?.events ?? []
            events += note(&clock, .audio, time + 90, at: time + 20)?.events ?? []
        }
        #expect(events.contains(.unrelated))
        let video = try #require(due(clock, 7_003_000, .video))
        let audio = try #require(due(clock, 3090, .audio))
        #expect(abs(video - audio) < 0.1)
        #expect(clock.status.latePackets == 0)
    }

    @Test("A file gets no clock mapping, and timestamp jumps where it loops are removed for both tracks")
    func file() throws {
        var clock = SourceClock(.file, tracks: Self.both)
        var last: (video: Int64, audio: Int64) = (-40, -40)
        for (part, origin) in [Int64(100_000), 100, 5_000_000].enumerated() {
            for time in stride(from: Int64(0), to: 2000, by: 40) {
                let first = note(&clock, .video, origin + time, at: 0)
                let video = try #require(first).time.nanoseconds / 1_000_000
                if part > 0 { #expect(video - last.video == 40) }
                last.video = video
                let second = note(&clock, .audio, origin + time + 7, at: 0)
                let audio = try #require(second).time.nanoseconds / 1_000_000
                if part > 0 { #expect(audio - last.audio == 40) }
                last.audio = audio
                #expect(audio - video == 7)
            }
        }
        #expect(clock.status.jumps == 2)
        #expect(!clock.isPlaced)
    }

    @Test("Where a file loops, late audio of the previous round keeps its times; a gap of 9 s is not a loop point")
    func interleavedSeam() throws {
        var clock = SourceClock(.file, tracks: Self.both)
        func place(_ track: TrackKind, _ dts: Int64) throws -> Int64 {
            let noted = note(&clock, track, dts, at: 0)
            return try #require(noted).time.nanoseconds / 1_000_000
        }
        for time in stride(from: Int64(0), to: 1000, by: 40) {
            #expect(try place(.video, time) == time)
            if time < 800 { #expect(try place(.audio, time) == time) }
        }
        #expect(try place(.video, 500_000) == 1000)
        for time in stride(from: Int64(800), to: 1000, by: 40) { #expect(try place(.audio, time) == time) }
        #expect(try place(.audio, 500_000) == 1000)
        #expect(try place(.video, 500_040) == 1040)
        #expect(try place(.video, 509_000) == 10_000)
        #expect(try place(.audio, 509_000) == 10_000)
        #expect(clock.status.jumps == 1)
    }

    @Test(
        "If tracks jump by different distances at a playlist's discontinuity, both continue in sync")
    func playlistSeam() throws {
        var clock = SourceClock(.playlist(target: .seconds(2)), tracks: Self.both)
        var events: [SourceClockEvent] = []
        var last: (video: Int64, audio: Int64) = (0, 0)
        for segment in Int64(0)..<20 {
            let (video, audio): (Int64, Int64) = segment < 10 ? (50_000, 50_000) : (10_000, 7000)
            for time in stride(from: segment * 2000, to: segment * 2000 + 2000, by: 40) {
                let arrival = max(6000, segment * 2000 + 2000)
                let noted = note(&clock, .video, video + time, at: arrival)
                let heard = note(&clock, .audio, audio + time, at: arrival)
                events += (noted?.events ?? []) + (heard?.events ?? [])
                let place = try #require(noted).time.nanoseconds / 1_000_000
                let sound = try #require(heard).time.nanoseconds / 1_000_000
                if time > 0 { #expect((place - last.video, sound - last.audio) == (40, 40)) }
                last = (place, sound)
            }
        }
        #expect(clock.status.jumps == 2)
        #expect(clock.status.loneJumps == 0)
        #expect(clock.status.latePackets == 0)
    }

    @Test("If audio is lost while the sender's timestamps jump, it gets the same shift as the video")
    func lossAtJump() {
        var clock = SourceClock(.rtmp, tracks: Self.both)
        feed(&clock, from: 0, until: 5000)
        feed(&clock, from: 5000, until: 5700, offset: 90_000, audio: nil)
        feed(&clock, from: 5700, until: 15_000, offset: 90_000)
        #expect(clock.status.jumps == 1)
        #expect(clock.status.loneJumps == 0)
        #expect(clock.status.latePackets == 0)
        #expect(abs(clock.status.audioBehindVideoMilliseconds) < 1)
    }

    @Test("A video track that ends while audio continues is reported, and so is its return")
    func watchdog() {
        var clock = SourceClock(.rtmp, tracks: Self.both)
        func advance(to milliseconds: Int64) -> [SourceClockEvent] {
            clock.advance(to: MonotonicInstant(milliseconds, in: .milliseconds))
        }
        feed(&clock, from: 0, until: 5000)
        feed(&clock, from: 5000, until: 5800, video: nil)
        var told = advance(to: 5900)
        #expect(told == [])
        feed(&clock, from: 5800, until: 6400, video: nil)
        told = advance(to: 6400)
        #expect(told == [.silent(.video)])
        told = advance(to: 6500)
        #expect(told == [])
        told = feed(&clock, from: 6520, until: 6600)
        #expect(told.contains(.resumed(.video)))
        told = advance(to: 8600)
        #expect(told == [.silent(.video), .silent(.audio)])
        told = advance(to: 17_000)
        #expect(told == [.lost])
    }

    @Test("A reopened source keeps its measured clock rate, gets a new clock mapping, and continues its times")
    func restart() throws {
        var clock = SourceClock(.rtmp, tracks: Self.both)
        for time in stride(from: Int64(0), to: 60_000, by: 40) {
            _ = note(&clock, .video, time + time / 5000, at: time)
            _ = note(&clock, .audio, time + time / 5000, at: time)
        }
        let rate = clock.status.ratePPM
        #expect(abs(rate - 200) < 20)
        clock.restart()
        #expect(!clock.isPlaced)
        let noted = note(&clock, .audio, 123, at: 64_000)
        let first = try #require(noted)
        #expect(abs(Double(first.time.nanoseconds) / 1e6 - 64_012) < 50)
        let events = feed(&clock, from: 64_000, until: 66_000, offset: 123 - 64_000)
        #expect(clock.isPlaced)
        #expect(events.contains { if case .placed = $0 { true } else { false } })
        #expect(abs(clock.status.ratePPM - rate) < 1)
    }

    @Test("Frames that a demuxer releases only when its input is closed still get the times of their timestamps")
    func heldBack() throws {
        var clock = SourceClock(.transportStream, tracks: Self.both)
        feed(&clock, from: 0, until: 6000)
        for dts in [11_000, 11_040] as [Int64] {
            let held = note(&clock, .video, dts, at: 18_000)
            #expect(try #require(held).time == Timestamp(dts, in: .milliseconds))
        }
        #expect(clock.isPlaced && clock.status.jumps == 0)
    }

    @Test("A sender that pauses for 20 s and then continues its timestamps gets a new clock mapping")
    func paused() {
        var clock = SourceClock(.transportStream, tracks: Self.both)
        feed(&clock, from: 0, until: 6000)
        let events = feed(&clock, from: 26_000, until: 30_000, offset: 5000 - 20_000)
        #expect(events.contains { if case .placed = $0 { true } else { false } })
        #expect(clock.isPlaced)
    }

    @Test("If packets are 150 ms late, both tracks are shifted once; beyond the limit they are shifted only after 3 s")
    func late() throws {
        var clock = SourceClock(.rtmp, tracks: Self.both)
        feed(&clock, from: 0, until: 2000)
        var stepped = feed(&clock, from: 2000, until: 2040, video: 350)
        #expect(stepped.contains(.stepped(.milliseconds(190))))
        #expect(clock.status.steps == 1)
        let video = try #require(due(clock, 9000, .video))
        #expect(video == due(clock, 9000, .audio))
        stepped = feed(&clock, from: 2040, until: 2080, video: 4000, audio: nil)
        #expect(clock.status.steps == 1)
        #expect(clock.status.latePackets == 2)
        stepped = feed(&clock, from: 2080, until: 2080 + 3200, video: 4000, audio: nil)
        #expect(clock.status.steps == 2)
    }

    @Test(
        "A shift of the tracks for late packets makes the buffer exactly as long as these packets need",
        arguments: [false, true])
    func bufferAfterStep(isGradual: Bool) {
        var clock = SourceClock(.rtmp, tracks: Self.both)
        feed(&clock, from: 0, until: 5000)
        // The mapping has not moved to the larger buffer yet when packets come that are later still.
        if isGradual { feed(&clock, from: 5000, until: 5040, video: 190) }
        let events = feed(&clock, from: 5040, until: 5080, video: 350)
        #expect(events.contains { if case .stepped = $0 { true } else { false } })
        #expect(clock.status.steps == 1)
        // The buffer is the sum of the delay of 350 ms and the margin of 40 ms.
        #expect(abs(clock.status.bufferMilliseconds - 390) < 2, "\(clock.status.bufferMilliseconds)")
    }

    @Test("If only audio becomes too late, both tracks are shifted, and the audio is audible again")
    func audioFallsBehind() throws {
        var clock = SourceClock(.rtmp, tracks: Self.both)
        feed(&clock, from: 0, until: 2000)
        feed(&clock, from: 2000, until: 10_000, audio: 3000)
        #expect(clock.status.steps == 1)
        let audio = try #require(due(clock, 14_000, .audio))
        #expect(audio - 9000 > 3000)
        #expect(due(clock, 14_000, .video) == audio)
    }

    @Test("Audio with timestamps a minute behind its video is synchronized by arrival, without delaying video")
    func audioFarBehind() throws {
        var clock = SourceClock(.rtmp, tracks: Self.both)
        feed(&clock, from: 0, until: 2000)
        var events: [SourceClockEvent] = []
        for time in stride(from: Int64(62_000), to: 72_000, by: 40) {
            events += note(&clock, .video, 5000 + time, at: time)?.events ?? []
            events += note(&clock, .audio, 5000 + time - 60_000, at: time)?.events ?? []
        }
        #expect(events.count { $0 == .unrelated } == 1)
        let video = try #require(due(clock, 77_000, .video))
        #expect(video - 72_000 < 1000)
    }

    @Test("If a buffer above the limit is no longer needed, it is shortened at once")
    func excess() {
        var clock = SourceClock(.rtmp, tracks: Self.both)
        feed(&clock, from: 0, until: 2000)
        feed(&clock, from: 2000, until: 20_000, video: 5000, audio: 5000)
        #expect(clock.status.bufferMilliseconds > 4900)
        // The path is free again, and delivers its backlog at once.
        for time in stride(from: Int64(20_000), to: 25_000, by: 40) {
            for track in [TrackKind.video, .audio] { _ = note(&clock, track, time + 5000, at: 25_000) }
        }
        var given: [SourceClockEvent] = []
        for second in Int64(25)..<70 {
            feed(&clock, from: second * 1000, until: second * 1000 + 1000)
            given += clock.advance(to: .zero + .seconds(second + 1))
        }
        #expect(given.count { if case .stepped = $0 { true } else { false } } == 1)
        #expect(clock.status.bufferMilliseconds < 500)
    }

    @Test("A configured latency above the buffer's limit is kept")
    func longLatency() {
        var settings = SourceClockSettings.rtmp
        settings.latency = .seconds(5)
        var clock = SourceClock(settings, tracks: Self.both)
        var events: [SourceClockEvent] = []
        for second in Int64(0)..<400 {
            events += feed(&clock, from: second * 1000, until: second * 1000 + 1000)
            events += clock.advance(to: .zero + .seconds(second + 1))
        }
        #expect(events.count == 1)
        #expect(abs(clock.status.bufferMilliseconds - 5000) < 1)
    }

    @Test("Impossible timestamps get no program time, and no sequence of timestamps crashes the process")
    func hostile() {
        var random = SeededRandom()
        for settings in [
            SourceClockSettings.rtmp, .file, .playlist(target: .seconds(6)), .device(stampsAreMonotonic: false),
            .device(stampsAreMonotonic: true),
        ] {
            var clock = SourceClock(settings, tracks: Self.both)
            let impossible = note(&clock, .video, .max, at: 0)
            #expect(impossible == nil)
            var arrival: Int64 = 0
            for _ in 0..<5000 {
                let dts = Int64.random(in: .min ... .max, using: &random) >> Int64.random(in: 0...50, using: &random)
                let track = [TrackKind.video, .audio][Int.random(in: 0...1, using: &random)]
                arrival += Int64.random(in: -100...30_000, using: &random)
                let stamp = SourceClock.Stamp(
                    track, dts: dts, pts: dts ^ Int64.random(in: 0 ... .max, using: &random),
                    duration: .random(in: .min ... .max, using: &random))
                let noted = clock.note(stamp, arrival: MonotonicInstant(arrival, in: .milliseconds))
                if let noted { _ = clock.due(noted.time, of: track) }
                if Int.random(in: 0..<500, using: &random) == 0 { clock.restart() }
                _ = clock.advance(to: MonotonicInstant(arrival + 5, in: .milliseconds))
            }
        }
    }

    @Test(
        "Recorded arrivals of five transports cause no late packet, shift or jump",
        arguments: ["udp", "srt", "rtmp", "rtsp", "hls", "pes300"])
    func recorded(name: String) throws {
        let settings: [String: SourceClockSettings] = [
            "udp": .transportStream, "srt": .transportStream, "rtmp": .rtmp, "rtsp": .rtp,
            "hls": .playlist(target: .seconds(2)), "pes300": .transportStream,
        ]
        var clock = SourceClock(try #require(settings[name]), tracks: Self.recordedTracks)
        var placed = 0
        for (stamp, arrival) in try recording(name) {
            let seen = clock.note(stamp, arrival: arrival)
            let noted = try #require(seen)
            guard let due = clock.due(noted.decodeTime, of: stamp.track) else { continue }
            placed += 1
            #expect(due >= arrival)
        }
        #expect(placed > 1000)
        #expect(clock.status.latePackets == 0)
        #expect(clock.status.steps == 0)
        #expect(clock.status.jumps == 0)
    }

    private static let recordedTracks: [TrackKind: (timeBase: TimeBase, bits: Int?)] = [
        .video: (TimeBase(1, 1_000_000), nil), .audio: (TimeBase(1, 1_000_000), nil),
    ]

    private func recording(_ name: String) throws -> [(stamp: SourceClock.Stamp, arrival: MonotonicInstant)] {
        let path = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Traces/\(name).csv")
        return try String(contentsOf: path, encoding: .utf8).split(separator: "\n").filter { !$0.hasPrefix("#") }.map {
            let fields = $0.split(separator: ",")
            let numbers = fields.dropFirst().compactMap { Int64($0) }
            let stamp = SourceClock.Stamp(
                fields[0] == "v" ? .video : .audio, dts: numbers[0], pts: numbers[1], duration: numbers[2])
            return (stamp, MonotonicInstant(numbers[3], in: TimeBase(1, 1_000_000)))
        }
    }

    @Test("At 300 kbit/s, PES packets with 350 ms of audio arrive more than 130 ms before they are due")
    func spareOfBundles() throws {
        let packets = try recording("pes300")
        for start in stride(from: 0, to: packets.count / 2, by: 7) {
            var clock = SourceClock(.transportStream, tracks: Self.recordedTracks)
            var spare = Duration.seconds(10)
            for (stamp, arrival) in packets[start...] {
                let seen = clock.note(stamp, arrival: arrival)
                let noted = try #require(seen)
                if let due = clock.due(noted.decodeTime, of: stamp.track) { spare = min(spare, due - arrival) }
            }
            #expect(spare > .milliseconds(130), "from packet \(start) on")
        }
    }
}
