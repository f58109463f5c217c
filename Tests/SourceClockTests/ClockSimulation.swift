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
    private let tick = Duration.milliseconds(40)
    private var clock: SourceClock
    private var program: ReferenceClock?
    private var servo = AudioServo(sampleRate: 48_000)
    private var slots: FrameSlots
    private var result = Result()
    private var placed: MonotonicInstant?
    private var queue: [Waiting] = []
    private var step = Duration.zero
    private var lastShown: (offset: Duration, due: MonotonicInstant)?
    /// Audio that was output before its video was shown.
    private var heard: [(position: ProgramInstant, captured: MonotonicInstant, arrival: MonotonicInstant)] = []
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
        var now = MonotonicInstant.zero
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

    private mutating func pass(_ now: MonotonicInstant, _ countAfter: Duration) {
        if now <= .zero + countAfter { counted = (slots.repeated, slots.dropped) }
        note(clock.advance(to: now))
        program?.advance(to: now)
        result.programRate = max(result.programRate, abs(program?.rate ?? 0) * 1e6)
        decodeQueue(now)
        while let first = frames.first, let due = due(first), due <= now {
            frames.removeFirst()
            // A step may move the due times of frames into the past; such frames are not shown. Between two ticks, a
            // slew moves due times by at most 40 µs.
            if due > now - tick - .microseconds(40) { show(first, due, now) }
        }
    }

    private mutating func decodeQueue(_ now: MonotonicInstant) {
        while let first = queue.first, let due = due(first),
            clock.decoding(of: due).map({ $0 <= now }) ?? true
        {
            queue.removeFirst()
            decode(first, now: now)
        }
    }

    private func due(_ waiting: Waiting) -> MonotonicInstant? {
        clock.due(waiting.time, of: waiting.packet.stamp.track)
    }

    /// The moment of the program. Without a reference the program has the machine's time.
    private func position(at moment: MonotonicInstant) -> ProgramInstant {
        program?.position(at: moment) ?? ProgramInstant(nanoseconds: moment.nanoseconds)
    }

    private mutating func take(_ packet: SenderModel.Packet) {
        guard let noted = clock.note(packet.stamp, arrival: packet.arrival) else { return }
        note(noted.events)
        let waiting = Waiting(packet: packet, time: noted.time)
        guard let due = due(waiting) else { return }
        placed = placed ?? packet.arrival
        result.slack = min(result.slack, (due - packet.arrival).inSeconds * 1000)
        queue.append(waiting)
        decodeQueue(packet.arrival)
    }

    private mutating func note(_ events: [SourceClockEvent]) {
        for event in events {
            switch event {
            case .late: result.late += 1
            case .stepped(let distance):
                step += distance
                lastShown?.offset += distance
                for index in heard.indices { heard[index].position += distance }
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

    private mutating func decode(_ waiting: Waiting, now: MonotonicInstant) {
        guard let due = due(waiting), due >= now else { return }
        if waiting.packet.stamp.track == .video { frames.append(waiting) } else { play(waiting, due) }
    }

    private mutating func show(_ frame: Waiting, _ due: MonotonicInstant, _ now: MonotonicInstant) {
        result.frames += 1
        let captured = frame.packet.captured
        program?.note(1, due: due, stretch: clock.stretch(of: .video), now: now)
        _ = slots.take(position(at: due))
        let offset = due - MonotonicInstant(nanoseconds: frame.time.nanoseconds)
        if let last = lastShown, due - last.due < .milliseconds(300) {
            result.videoStep = max(result.videoStep, abs((offset - last.offset).inSeconds * 1000))
        }
        lastShown = (offset, due)
        let error = due - captured
        while let audio = heard.first, audio.captured <= captured {
            heard.removeFirst()
            guard captured - audio.captured < .milliseconds(300) else { continue }
            // When the sample is heard on the machine's clock, to compare with when the frame is seen.
            let moment =
                program?.line.origin(of: audio.position)
                ?? MonotonicInstant(nanoseconds: audio.position.nanoseconds)
            let off = abs((moment - audio.captured - error).inSeconds * 1000)
            result.worst = max(result.worst, off)
            if let placed, audio.arrival - placed > .seconds(60) { result.worstLater = max(result.worstLater, off) }
        }
    }

    private mutating func play(_ audio: Waiting, _ due: MonotonicInstant) {
        let target = position(at: due)
        let stretch = clock.stretch(of: .audio) + (program?.rate ?? 0)
        let before = servo.position
        let correction = servo.correct(
            time: audio.time, duration: .nanoseconds(TimeBase(1024, 48_000).rescale(1, to: .nanoseconds)),
            target: target, stretch: stretch, step: step)
        if correction.isHole { result.holes += 1 }
        if before != nil, correction.fill != 0, step == .zero, !correction.isHole {
            result.audioStep = max(result.audioStep, Double(abs(correction.fill)) / 48)
        }
        step = .zero
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
