// SPDX-License-Identifier: Apache-2.0

import Foundation
import Media
import SourceClock
import TestSupport

/// A model of a sender and its path to us: the packets' timestamps, and their arrivals.
struct SenderModel {
    /// A change of the timestamps from a moment on.
    struct Jump {
        /// When, on our clock.
        var at: MonotonicInstant
        /// The distance of the jump.
        var by: Duration
        /// How much later audio jumps; nil for never.
        var audioAfter: Duration? = .zero
    }

    /// Wrong timestamps of one or a few packets.
    struct Outlier {
        var track: TrackKind
        /// The number of the first wrong packet in its track, and how many are wrong.
        var first: Int64
        var count: Int64 = 1
        /// The error of the timestamps.
        var by: Duration
    }

    /// The delay that a packet's path adds.
    enum Jitter {
        case none
        /// The absolute value of a normal distribution.
        case gauss(milliseconds: Double)
        /// Exponential with a mean of 4 ms, 2 % spikes of 20 to 150 ms, and a floor that wanders by 10 ms in 5 minutes.
        case wifi
        /// Stalls of 1 to 6 s about every two minutes, followed by all packets at once.
        case stalls
    }

    var duration: Duration = .seconds(900)
    var frameRate = FrameRate(25)
    /// How much faster the sender's clock, and its audio's own clock, run than ours, in ppm.
    var rate = 0.0
    var audioRate = 0.0
    /// The excess of samples in a packet over its timestamps, in ppm.
    var sampleRate = 0.0
    /// The deviation of the frames' rate from their timestamps' clock, in ppm.
    var cadence = 0.0
    var start = Duration.seconds(1000)
    var timeBase = TimeBase.mpegTS
    var bits: Int?
    var jitter = Jitter.none
    var path = Duration.milliseconds(20)
    /// How much later audio is sent than video of the same time.
    var audioLate = Duration.zero
    /// All packets that were sent before this time are delivered together at this time.
    var burst = Duration.zero
    /// Segments of this length are delivered at their end.
    var segment = Duration.zero
    /// This many audio packets are delivered with the last one of them.
    var audioBundle = 1
    var loss = 0.0
    var jumps: [Jump] = []
    var outlier: Outlier?
    /// Periods in which no packets of these tracks are sent.
    var pauses: [(Range<MonotonicInstant>, Set<TrackKind>)] = []
    /// The path becomes longer by this much at this moment.
    var pathChange: (at: MonotonicInstant, by: Duration)?
    var stampNoise = 0.0
    var tracks: Set<TrackKind> = [.video, .audio]
    /// When audio begins.
    var audioFrom = MonotonicInstant.zero

    struct Packet {
        let stamp: SourceClock.Stamp
        let arrival: MonotonicInstant
        /// When it was captured, on our clock.
        let captured: MonotonicInstant
        let samples: Int64
    }
}

/// The packets of a ``SenderModel``, in order of arrival.
struct SenderPackets {
    private struct Unit {
        let track: TrackKind
        /// The number of the packet in its track.
        let number: Int64
        let captured: MonotonicInstant
        let media: Int64
        let duration: Int64
        let samples: Int64
        var send: MonotonicInstant
    }

    private let model: SenderModel
    private var random: SeededRandom
    private var upcoming: (video: Unit?, audio: Unit?)
    private var counts = (video: Int64(0), audio: Int64(0))
    private var samplesSent = 0.0
    private var samplesMade: Int64 = 0
    private var arrived = MonotonicInstant.zero
    private var bundle: [SenderModel.Packet] = []
    private var ready: [SenderModel.Packet] = []
    private var stall = (from: MonotonicInstant.zero + .seconds(60), until: MonotonicInstant.zero + .seconds(60))

    init(_ model: SenderModel, random: SeededRandom) {
        self.model = model
        self.random = random
        for track in model.tracks { make(track) }
    }

    mutating func next() -> SenderModel.Packet? {
        while true {
            if let packet = ready.popLast() { return packet }
            guard let unit = earliest, unit.captured < .zero + model.duration
            else { return nil }
            make(unit.track)
            if isLost(unit) { continue }
            let packet = packet(of: unit)
            guard unit.track == .audio, model.audioBundle > 1 else { return packet }
            bundle.append(packet)
            guard bundle.count == model.audioBundle else { continue }
            ready = bundle.reversed().map {
                SenderModel.Packet(
                    stamp: $0.stamp, arrival: packet.arrival, captured: $0.captured, samples: $0.samples)
            }
            bundle = []
        }
    }

    private var earliest: Unit? {
        guard let video = upcoming.video else { return upcoming.audio }
        guard let audio = upcoming.audio else { return video }
        return audio.send <= video.send ? audio : video
    }

    private mutating func make(_ track: TrackKind) {
        let count = track == .video ? counts.video : counts.audio
        if track == .video { counts.video += 1 } else { counts.audio += 1 }
        let (media, length, speed): (Int64, Int64, Double)
        if track == .video {
            media = model.frameRate.timeBase.rescale(count, to: .nanoseconds)
            length = model.frameRate.timeBase.rescale(1, to: .nanoseconds)
            speed = model.rate * 1e-6
        } else {
            media =
                13_000_000 + TimeBase(1024, 48_000).rescale(count, to: .nanoseconds)
                + model.audioFrom.nanoseconds
            length = TimeBase(1024, 48_000).rescale(1, to: .nanoseconds)
            speed = (model.rate + model.audioRate) * 1e-6
        }
        let stamped = track == .video ? media - Int64(Double(media) * model.cadence * 1e-6) : media
        let captured = MonotonicInstant(nanoseconds: stamped - Int64(Double(stamped) * speed / (1 + speed)))
        var samples: Int64 = 0
        if track == .audio {
            samplesSent += 1024 * (1 + model.sampleRate * 1e-6)
            samples = Int64(samplesSent) - samplesMade
            samplesMade += samples
        }
        let late = track == .audio ? model.audioLate : .zero
        let unit = Unit(
            track: track, number: count, captured: captured, media: stamped, duration: length, samples: samples,
            send: captured + late)
        if track == .video { upcoming.video = unit } else { upcoming.audio = unit }
    }

    private mutating func isLost(_ unit: Unit) -> Bool {
        if model.loss > 0, Double.random(in: 0..<1, using: &random) < model.loss { return true }
        return model.pauses.contains { $0.0.contains(unit.captured) && $0.1.contains(unit.track) }
    }

    private mutating func packet(of unit: Unit) -> SenderModel.Packet {
        var delay = model.path + noise(at: unit.send)
        if let change = model.pathChange, unit.send > change.at { delay += change.by }
        var arrival = unit.send + delay
        if model.segment > .zero {
            let (sent, segment) = (unit.send.nanoseconds, model.segment.inNanoseconds)
            arrival += .nanoseconds((sent / segment + 1) * segment - sent)
        }
        arrived = max(arrived, arrival, .zero + model.burst)
        var time = unit.media + model.start.inNanoseconds
        for jump in model.jumps {
            let after = unit.track == .video ? .zero : jump.audioAfter
            if let after, unit.captured >= jump.at + after { time += jump.by.inNanoseconds }
        }
        if let outlier = model.outlier, outlier.track == unit.track,
            (outlier.first..<outlier.first + outlier.count).contains(unit.number)
        {
            time += outlier.by.inNanoseconds
        }
        if model.stampNoise > 0, unit.track == .audio { time += Int64(normal() * model.stampNoise * 1e6) }
        var ticks = TimeBase.nanoseconds.rescale(time, to: model.timeBase)
        if let bits = model.bits { ticks &= (1 << Int64(bits)) - 1 }
        let stamp = SourceClock.Stamp(
            unit.track, dts: ticks, duration: TimeBase.nanoseconds.rescale(unit.duration, to: model.timeBase))
        return SenderModel.Packet(stamp: stamp, arrival: arrived, captured: unit.captured, samples: unit.samples)
    }

    private mutating func noise(at moment: MonotonicInstant) -> Duration {
        switch model.jitter {
        case .none: return .zero
        case .gauss(let milliseconds): return .nanoseconds(Int64(abs(normal()) * milliseconds * 1e6))
        case .wifi:
            var delay = -log(1 - Double.random(in: 0..<1, using: &random)) * 4e6
            if Double.random(in: 0..<1, using: &random) < 0.02 { delay = .random(in: 20e6..<150e6, using: &random) }
            return .nanoseconds(Int64(delay + 5e6 * (1 + sin(2 * .pi * Double(moment.nanoseconds) / 300e9))))
        case .stalls:
            while moment >= stall.until {
                let pause = -log(1 - Double.random(in: 0..<1, using: &random)) * 120e9 + 10e9
                stall.from = stall.until + (stall.until > 60_000_000_000 ? .nanoseconds(Int64(pause)) : .zero)
                stall.until = stall.from + .nanoseconds(Int64.random(in: 1_000_000_000...6_000_000_000, using: &random))
            }
            let delay = Duration.nanoseconds(Int64(abs(normal()) * 2e6))
            return moment < stall.from ? delay : max(delay, stall.until - moment)
        }
    }

    /// A random number with the standard normal distribution (Box and Muller, 1958).
    private mutating func normal() -> Double {
        let (u, v) = (Double.random(in: 0..<1, using: &random), Double.random(in: 0..<1, using: &random))
        return (-2 * log(1 - u)).squareRoot() * cos(2 * .pi * v)
    }
}
