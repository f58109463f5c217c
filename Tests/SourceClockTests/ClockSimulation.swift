// SPDX-License-Identifier: Apache-2.0

import Media
import Program
import SourceClock
import TestSupport

/// A source, its clock and a program in simulated time, to measure what a viewer would see and hear.
struct ClockSimulation {
    /// The result. Times are milliseconds, rates ppm.
    struct Result: CustomStringConvertible {
        /// The maximum error of audio against video, over the whole run and from one minute after the start.
        var worst = 0.0
        var worstLater = 0.0
        /// The maximum correction of the resampler, and its maximum change within a second.
        var correction = 0.0
        /// The maximum movement of the video between two frames, and of the audio between two packets, except for
        /// counted steps.
        var videoStep = 0.0
        var audioStep = 0.0
        var frames = 0
        var repeated = 0
        var dropped = 0
        var late = 0
        var holes = 0
        /// The maximum deviation of the program from the machine's clock, in ppm.
        var programRate = 0.0
        /// The smallest buffer that a packet had left.
        var slack = Double.infinity
        var events: [SourceClockEvent] = []
        var status = SourceClockStatus()

        var steps: [Double] {
            events.compactMap { if case .stepped(let distance) = $0 { distance.inSeconds * 1000 } else { nil } }
        }
        var jumps: Int { events.count { if case .jumped = $0 { true } else { false } } }

        var description: String {
            func text(_ value: Double) -> String { String(Double(Int(value * 1000)) / 1000) }
            return """
                A/V \(text(worst)) / \(text(worstLater)) ms, \(text(correction)) ppm, program \(text(programRate)) ppm, \
                video \(text(videoStep)) ms, audio \(text(audioStep)) ms, frames \(frames), repeated \(repeated), \
                dropped \(dropped), late \(late), holes \(holes), slack \(text(slack)) ms, steps \(steps), \
                jumps \(jumps), rate \(text(status.ratePPM)), buffer \(text(status.bufferMilliseconds))
                """
        }
    }

    private struct Waiting {
        let packet: SenderModel.Packet
        let time: Timestamp
    }

    private let model: SenderModel
    private let tick: Int64 = 40_000_000
    private var clock: SourceClock
    private var program: ReferenceClock?
    private var servo = AudioServo(sampleRate: 48_000)
    private var slots: FrameSlots
    private var result = Result()
    private var placed: Int64?
    private var queue: [Waiting] = []
    private var step: Int64 = 0
    private var lastShown: (offset: Int64, due: Int64)?
    /// Audio that was output before its video was shown.
    private var heard: [(position: Timestamp, captured: Int64, arrival: Int64)] = []
    private var frames: [Waiting] = []
    private var samplesLeft = 0.0
    private var counted = (repeated: 0, dropped: 0)

    /// With `isReference` the program follows the source's clock.
    init(_ model: SenderModel, _ settings: SourceClockSettings, isReference: Bool = false) {
        self.model = model
        var tracks: [TrackKind: (timeBase: TimeBase, bits: Int?)] = [:]
        for track in model.tracks { tracks[track] = (model.timeBase, model.bits) }
        clock = SourceClock(settings, tracks: tracks)
        slots = FrameSlots(frameRate: model.frameRate)
        slots.isReference = isReference
        if isReference {
            program = ReferenceClock(frameRate: model.frameRate, start: .zero)
            program?.follow(1, sourceRate: model.frameRate)
        }
    }

    /// Runs the simulation. Repeated and dropped frames count from `countAfter` on, or from the first frame.
    mutating func run(_ random: SeededRandom, countAfter: Duration = .zero) -> Result {
        var now: Int64 = 0
        var packets = SenderPackets(model, random: random)
        while let packet = packets.next() {
            while now + tick <= packet.arrival {
                now += tick
                pass(now, countAfter)
            }
            take(packet)
        }
        while !(queue.isEmpty && frames.isEmpty), clock.isPlaced {
            now += tick
            pass(now, countAfter)
        }
        result.repeated = slots.repeated - counted.repeated
        result.dropped = slots.dropped - counted.dropped
        result.status = clock.status
        return result
    }

    private mutating func pass(_ now: Int64, _ countAfter: Duration) {
        if now <= countAfter.inNanoseconds { counted = (slots.repeated, slots.dropped) }
        note(clock.advance(to: Timestamp(nanoseconds: now)))
        program?.advance(to: Timestamp(nanoseconds: now))
        result.programRate = max(result.programRate, abs(program?.rate ?? 0) * 1e6)
        decodeQueue(now)
        while let first = frames.first, let due = due(first), due.nanoseconds <= now {
            frames.removeFirst()
            // A step may move the due times of frames into the past; such frames are not shown. Between two ticks, a
            // slew moves due times by at most 40 µs.
            if due.nanoseconds > now - tick - 40_000 { show(first, due, now) }
        }
    }

    private mutating func decodeQueue(_ now: Int64) {
        while let first = queue.first, let due = due(first),
            clock.decoding(of: due).map({ $0.nanoseconds <= now }) ?? true
        {
            queue.removeFirst()
            decode(first, now: now)
        }
    }

    private func due(_ waiting: Waiting) -> Timestamp? { clock.due(waiting.time, of: waiting.packet.stamp.track) }

    private mutating func take(_ packet: SenderModel.Packet) {
        guard let noted = clock.note(packet.stamp, arrival: Timestamp(nanoseconds: packet.arrival)) else { return }
        note(noted.events)
        let waiting = Waiting(packet: packet, time: noted.time)
        guard let due = due(waiting) else { return }
        placed = placed ?? packet.arrival
        result.slack = min(result.slack, Double(due.nanoseconds - packet.arrival) / 1e6)
        queue.append(waiting)
        decodeQueue(packet.arrival)
    }

    private mutating func note(_ events: [SourceClockEvent]) {
        for event in events {
            switch event {
            case .late: result.late += 1
            case .stepped(let distance):
                step += distance.inNanoseconds
                lastShown?.offset += distance.inNanoseconds
                for index in heard.indices { heard[index].position = heard[index].position + distance }
                result.events.append(event)
            case .placed:
                servo.restart()
                lastShown = nil
                heard = []
                result.events.append(event)
            default: result.events.append(event)
            }
        }
    }

    private mutating func decode(_ waiting: Waiting, now: Int64) {
        guard let due = due(waiting), due.nanoseconds >= now else { return }
        if waiting.packet.stamp.track == .video { frames.append(waiting) } else { play(waiting, due) }
    }

    private mutating func show(_ frame: Waiting, _ due: Timestamp, _ now: Int64) {
        result.frames += 1
        let captured = frame.packet.captured
        program?.note(1, due: due, stretch: clock.stretch(of: .video), now: Timestamp(nanoseconds: now))
        _ = slots.take(program?.position(at: due) ?? due)
        let offset = due.nanoseconds - frame.time.nanoseconds
        if let last = lastShown, due.nanoseconds - last.due < 300_000_000 {
            result.videoStep = max(result.videoStep, abs(Double(offset - last.offset) / 1e6))
        }
        lastShown = (offset, due.nanoseconds)
        let error = due.nanoseconds - captured
        while let audio = heard.first, audio.captured <= captured {
            heard.removeFirst()
            guard captured - audio.captured < 300_000_000 else { continue }
            // When the sample is heard on the machine's clock, to compare with when the frame is seen.
            let moment = program?.line.origin(of: audio.position) ?? audio.position
            let off = abs(Double(moment.nanoseconds - audio.captured - error) / 1e6)
            result.worst = max(result.worst, off)
            if let placed, audio.arrival - placed > 60_000_000_000 { result.worstLater = max(result.worstLater, off) }
        }
    }

    private mutating func play(_ audio: Waiting, _ due: Timestamp) {
        let target = program?.position(at: due) ?? due
        let stretch = clock.stretch(of: .audio) + (program?.rate ?? 0)
        let before = servo.position
        let correction = servo.correct(
            time: audio.time, duration: .nanoseconds(TimeBase(1024, 48_000).rescale(1, to: .nanoseconds)),
            target: target, stretch: stretch, step: .nanoseconds(step))
        if correction.isHole { result.holes += 1 }
        if before != nil, correction.fill != 0, step == 0, !correction.isHole {
            result.audioStep = max(result.audioStep, Double(abs(correction.fill)) / 48)
        }
        step = 0
        servo.note(made: correction.fill)
        result.correction = max(result.correction, abs(correction.stretch) * 1e6)
        if let position = servo.position {
            heard.append((position, audio.packet.captured, audio.packet.arrival))
        }
        samplesLeft += Double(audio.packet.samples) * (1 + correction.stretch)
        let made = Int64(samplesLeft)
        samplesLeft -= Double(made)
        servo.note(made: made)
    }
}
