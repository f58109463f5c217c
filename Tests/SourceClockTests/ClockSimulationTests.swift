// SPDX-License-Identifier: Apache-2.0

import Foundation
import Media
import SourceClock
import TestSupport
import Testing

/// Minutes and days of senders that drift, jitter, stall and jump, in simulated time. `RELAY_CLOCK_HOURS` sets the
/// length of the long runs in hours, by default 2.
@Suite("Simulated senders and the source clock")
struct ClockSimulationTests {
    private static let minutes = Duration.seconds(600)

    private var hours: Double {
        ProcessInfo.processInfo.environment["RELAY_CLOCK_HOURS"].flatMap(Double.init) ?? 2
    }

    private func run(
        _ model: SenderModel, _ settings: SourceClockSettings, isReference: Bool = false,
        countAfter: Duration = .zero, test: String = #function
    ) -> ClockSimulation.Result {
        var simulation = ClockSimulation(model, settings, isReference: isReference)
        let result = simulation.run(SeededRandom(test), countAfter: countAfter)
        print("\(test): \(result)")
        return result
    }

    /// Expects that nothing is late, lost, stepped or audible.
    private func expectClean(_ result: ClockSimulation.Result, within bound: Double = 5) {
        #expect(result.worst < bound)
        #expect(result.correction <= 1000)
        #expect(result.videoStep < 0.5)
        #expect(result.audioStep == 0)
        #expect(result.late == 0)
        #expect(result.holes == 0)
        #expect(result.steps == [])
        #expect(result.jumps == 0)
    }

    @Test(
        "With timestamps and samples hundreds of ppm off, audio stays within ±3 ms over Wi-Fi for hours",
        arguments: [(500.0, -300.0), (-500.0, 300.0)])
    func drift(rate: Double, samples: Double) {
        var model = SenderModel()
        model.duration = .seconds(Int64(hours * 3600))
        (model.rate, model.sampleRate, model.jitter) = (rate, samples, .wifi)
        let result = run(model, .transportStream)
        expectClean(result, within: 3)
        #expect(abs(result.status.ratePPM - rate) < 10)
        // This number of repeated or dropped frames is unavoidable if the clocks differ by 500 ppm; at the start there
        // may be up to two more or fewer.
        let expected = Int(hours * 3600 * 25 * 500e-6)
        #expect(abs((rate > 0 ? result.dropped : result.repeated) - expected) <= 2)
        #expect((rate > 0 ? result.repeated : result.dropped) <= 1)
    }

    @Test(
        "A reference source over Wi-Fi with wrapping timestamps causes no repeated or dropped frame for hours",
        arguments: [(500.0, -300.0), (-500.0, 300.0)])
    func reference(rate: Double, samples: Double) {
        var model = SenderModel()
        model.duration = .seconds(Int64(hours * 3600))
        (model.rate, model.sampleRate, model.jitter) = (rate, samples, .wifi)
        (model.timeBase, model.bits, model.start) = (.milliseconds, 32, .milliseconds((1 << 32) - 300_000))
        let result = run(model, .rtmp, isReference: true)
        expectClean(result, within: 3)
        #expect(result.repeated == 0)
        #expect(result.dropped == 0)
        #expect(result.programRate <= 1000)
    }

    @Test(
        "A reference with a clock ±300 ppm off causes no repeated or dropped frame, at every frame rate",
        arguments: [-300, 300] as [Double],
        [FrameRate(25), FrameRate(30000, 1001), FrameRate(50), FrameRate(24), FrameRate(60)])
    func grid(rate: Double, frameRate: FrameRate) {
        var model = SenderModel()
        (model.duration, model.rate, model.frameRate, model.jitter) = (Self.minutes, rate, frameRate, .wifi)
        (model.timeBase, model.bits) = (.milliseconds, 32)
        let result = run(model, .rtmp, isReference: true)
        expectClean(result, within: 2)
        #expect(result.repeated == 0)
        #expect(result.dropped == 0)
    }

    @Test("A reference whose frames are slower than its timestamps by 200 ppm has no repeated or dropped frame")
    func cadence() {
        var model = SenderModel()
        (model.duration, model.cadence, model.rate) = (.seconds(1800), 200, 100)
        let result = run(model, .rtmp, isReference: true)
        expectClean(result)
        #expect(result.repeated == 0)
        #expect(result.dropped == 0)
    }

    @Test("Audio that is multiplexed 800 ms behind its video is played completely, without a jump")
    func lateAudio() {
        var model = SenderModel()
        (model.duration, model.jitter, model.audioLate) = (Self.minutes, .wifi, .milliseconds(800))
        expectClean(run(model, .transportStream))
        expectClean(run(model, .broadcast))
    }

    @Test("Audio in PES packets of up to 350 ms is played completely, without a jump", arguments: [9, 16])
    func bundles(packets: Int) {
        var model = SenderModel()
        (model.duration, model.jitter, model.audioBundle) = (Self.minutes, .gauss(milliseconds: 5), packets)
        expectClean(run(model, .transportStream))
    }

    @Test("If a server sends a cached GOP at the start, no delay is added")
    func keptGOP() {
        var model = SenderModel()
        (model.duration, model.jitter, model.burst) = (Self.minutes, .gauss(milliseconds: 5), .seconds(4))
        let result = run(model, .rtmp)
        expectClean(result)
        #expect(result.repeated == 0)
        #expect(result.status.bufferMilliseconds < 260)
    }

    @Test("If segments of a playlist arrive in bursts, no packet is late", arguments: [(2, -300.0), (6, 300.0)])
    func playlist(segment: Int, rate: Double) {
        var model = SenderModel()
        (model.duration, model.jitter, model.rate) = (.seconds(Int64(hours * 3600)), .gauss(milliseconds: 50), rate)
        (model.segment, model.burst) = (.seconds(segment), .seconds(3 * segment))
        expectClean(run(model, .playlist(target: .seconds(segment))))
    }

    @Test(
        "Playlist segments arrive before they are due, whether on time, always 3 s late or late from some point on",
        arguments: [1, 2, 6, 8, 10, 20], [(0, 0), (3, 0), (0, 3)])
    func lateSegments(segment: Int, late: (always: Int, later: Int)) {
        var model = SenderModel()
        (model.duration, model.jitter) = (.seconds(200), .gauss(milliseconds: 50))
        (model.segment, model.path) = (.seconds(segment), .seconds(late.always))
        // The last segment was published just before the playlist was opened.
        model.burst = .seconds(3 * segment + late.always)
        if late.later > 0 {
            // A late segment also misses one reload of the playlist.
            model.pathChange = (.zero + .seconds(3 * segment), .seconds(late.later) + .seconds(segment) / 2)
        }
        let result = run(model, .playlist(target: .seconds(segment)))
        #expect(result.late == 0 && result.holes == 0 && result.steps.isEmpty && result.slack > 0, "\(result)")
        // After the last segment there is silence.
        let wasSilent = result.events.contains { if case .resumed = $0 { true } else { false } }
        #expect(!wasSilent, "\(result.events)")
    }

    @Test("The audio of a device whose clock is 300 ppm off stays in sync")
    func ownClocks() {
        var model = SenderModel()
        (model.duration, model.jitter, model.audioRate) = (.seconds(3600), .gauss(milliseconds: 3), 300)
        let result = run(model, .device(stampsAreMonotonic: false))
        expectClean(result)
        #expect(result.worstLater < 3)
    }

    @Test("Timestamps with jitter of 3 and 10 ms are smoothed, and cause no jumps", arguments: [3.0, 10.0])
    func stampNoise(milliseconds: Double) {
        var model = SenderModel()
        (model.duration, model.jitter, model.stampNoise) = (.seconds(1800), .gauss(milliseconds: 5), milliseconds)
        let result = run(model, .transportStream)
        #expect(result.worstLater < 2 * milliseconds)
        #expect(result.jumps == 0)
    }

    @Test(
        "A jump of both tracks' timestamps is removed for both at once, even if audio arrives later",
        arguments: [0.3, -0.3, 1.5, -1.5, 3, -3, 3600, -3600, 86_400, -86_400] as [Double], [0, 0.08, 2] as [Double])
    func jumps(seconds: Double, audioAfter: Double) {
        for bundle in [1, 9, 16] {
            var model = SenderModel()
            (model.duration, model.jitter, model.audioBundle) = (.seconds(500), .gauss(milliseconds: 5), bundle)
            (model.start, model.bits) = (.seconds(90_000), 33)
            model.jumps = [.init(at: 300_000_000_000, by: .seconds(seconds), audioAfter: .seconds(audioAfter))]
            // The floor falls by some 2 ms within the first half minute, so a frame near the boundary of two program
            // frames may change once. The jump does not cause that.
            let result = run(model, .transportStream, countAfter: .seconds(60))
            #expect(result.jumps == 1)
            #expect(result.status.loneJumps == 0)
            #expect(result.worst < 1)
            #expect(result.steps == [])
            #expect(result.late == 0)
            #expect(result.holes == 0)
            #expect(result.repeated == 0)
            #expect(result.dropped == 0)
        }
    }

    @Test(
        "If only the video's timestamps jump, video stays in sync with audio, and the jump is reported",
        arguments: [1, -1, 100] as [Double])
    func loneJump(seconds: Double) {
        var model = SenderModel()
        (model.duration, model.jitter) = (Self.minutes, .gauss(milliseconds: 5))
        model.jumps = [.init(at: 300_000_000_000, by: .seconds(seconds), audioAfter: nil)]
        let result = run(model, .transportStream)
        #expect(result.status.loneJumps == 1)
        #expect(result.worst < 1)
        #expect(result.repeated + result.dropped == 0)
    }

    @Test(
        "If the timestamps wrap in mid-stream, audio and video continue unchanged",
        arguments: [4_294_967_296, 2_147_483_648, 16_777_215, 8_589_934_592] as [Int64])
    func wraps(end: Int64) {
        let (base, bits): (TimeBase, Int) = end > 1 << 32 ? (.mpegTS, 33) : (.milliseconds, 32)
        for before in [Duration.seconds(300), .milliseconds(300)] {
            var model = SenderModel()
            (model.duration, model.jitter, model.timeBase, model.bits) = (Self.minutes, .wifi, base, bits)
            model.start = base.duration(end) - before
            let result = run(model, .rtmp, isReference: true)
            expectClean(result)
            #expect(result.repeated + result.dropped == 0)
        }
    }

    @Test(
        "After pauses of 1, 3, 10 and 30 s the sync is as before, and only the missing frames were repeated",
        arguments: [1, 3, 10, 30] as [Int64])
    func loss(seconds: Int64) {
        var model = SenderModel()
        (model.duration, model.jitter, model.rate) = (Self.minutes, .wifi, 300)
        model.pauses = [(300_000_000_000..<300_000_000_000 + .seconds(seconds), [.video, .audio])]
        let result = run(model, .transportStream, isReference: true)
        #expect(result.worst < 1)
        #expect(result.steps == [])
        #expect(result.jumps == 0)
        #expect(result.late == 0)
        #expect(abs(result.repeated - Int(seconds) * 25) <= 1)
        #expect(result.dropped == 0)
        #expect(result.holes <= 1)
    }

    @Test(
        "A sender that restarts with new timestamps after 0, 3 and 20 s continues at once",
        arguments: [0, 3, 20] as [Int64])
    func senderRestart(seconds: Int64) {
        var model = SenderModel()
        (model.duration, model.jitter, model.rate) = (Self.minutes, .wifi, 300)
        model.jumps = [.init(at: 300_000_000_000, by: .seconds(-700))]
        model.pauses = [(300_000_000_000..<300_000_000_000 + .seconds(seconds), [.video, .audio])]
        let result = run(model, .transportStream, isReference: true)
        #expect(result.worst < 1)
        #expect(result.steps == [])
        #expect(result.late == 0)
        #expect(result.repeated <= Int(seconds) * 25 + 26)
    }

    @Test(
        "During network stalls of 1 to 6 s audio and video stay in sync within 4 ms, and the clock rate is kept",
        arguments: [2, 8])
    func stalls(limit: Int) {
        var model = SenderModel()
        (model.duration, model.jitter, model.rate) = (.seconds(3600), .stalls, -500)
        var settings = SourceClockSettings.transportStream
        settings.limit = .seconds(limit)
        let result = run(model, settings)
        // Audio heard before a stall of 6 s is not moved any more: at 500 ppm these are 3 ms.
        #expect(result.worst < 4)
        #expect(result.correction <= 1000)
        #expect(result.videoStep < 0.5)
        #expect(abs(result.status.ratePPM + 500) < 2)
    }

    @Test(
        "If a network path becomes 80 ms longer or shorter, audio and video stay in sync within 1 ms",
        arguments: [80, -80])
    func path(milliseconds: Int) {
        var model = SenderModel()
        (model.duration, model.jitter, model.loss) = (.seconds(1200), .gauss(milliseconds: 5), 0.02)
        (model.path, model.pathChange) = (.milliseconds(100), (300_000_000_000, .milliseconds(milliseconds)))
        let result = run(model, .transportStream)
        #expect(result.worst < 1)
        #expect(result.late == 0)
        #expect(result.status.pathChanges == 1)
        #expect(result.steps == [])
    }

    @Test("A track that pauses for 20 s is in sync when it continues", arguments: [TrackKind.video, .audio])
    func pause(track: TrackKind) {
        var model = SenderModel()
        (model.duration, model.jitter, model.rate) = (Self.minutes, .wifi, 300)
        model.pauses = [(300_000_000_000..<320_000_000_000, [track])]
        let result = run(model, .transportStream)
        #expect(result.worst < 1)
        #expect(result.steps == [])
        #expect(result.jumps == 0)
        #expect(result.events.contains(.silent(track)))
        #expect(result.events.contains(.resumed(track)))
    }

    @Test("Audio that joins after 100 s, and arrives 800 ms later than the video, shifts the source only once")
    func lateTrack() {
        var model = SenderModel()
        (model.duration, model.jitter, model.audioFrom) = (Self.minutes, .gauss(milliseconds: 5), 100_000_000_000)
        model.audioLate = .milliseconds(800)
        let result = run(model, .transportStream)
        #expect(result.steps.count == 1)
        #expect(result.late == 0)
        #expect(result.worst < 1)
    }
}
