// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Decides the values and positions of a transport stream's clock references, PCR (ISO/IEC 13818-1, 2.4.2 and 2.7.2).
///
/// The clock stays behind the decoding time of the newest frame by a fixed delay, so it is as steady as the frames.
/// While frames are overdue, it follows the audio. It only moves forward, in steps of at most 40 ms. Each packet is
/// sent before the clock reaches its decoding time. A sender need not interleave its tracks in decoding order: the
/// delay allows for audio that arrives after frames with the same time, and audio that arrives before such frames does
/// not move the clock.
///
/// After a pause of more than a second, or when a track is later than the delay allows, a new time base begins, and the
/// stream signals a discontinuity. All times are 90 kHz ticks as in the stream. This type is a value, and does no I/O.
struct ProgramClock {
    /// One clock reference.
    struct Reference: Equatable {
        var time: Int64
        /// Whether a new time base begins with this reference.
        var isDiscontinuous = false
    }

    /// The references that are sent with one video frame or audio frame.
    struct Step: Equatable {
        /// References in packets of their own, before the frame.
        var before: [Reference] = []
        /// The time of the reference in the frame's first packet; nil if that packet gets no reference.
        var own: Int64?
        /// Times of references that are spread evenly among the frame's packets.
        var within: [Int64] = []
    }

    private struct Track {
        /// Decoding time of the newest packet.
        var time: Int64
        /// Duration of the newest packet.
        var length: Int64
    }

    /// The maximum time between two references (ETSI TR 101 290, 2.3a: 40 ms).
    private static let interval: Int64 = 3600
    /// The minimum time from the arrival of a frame to its decoding time: 50 ms.
    private static let base: Int64 = 4500
    /// For a stream that relay did not encode: how much later than the other track a track may be at first, 400 ms.
    /// Common muxers collect audio for up to 350 ms.
    private static let usualLag: Int64 = 36_000
    /// The most by which a late track can delay the clock: 2 s.
    private static let longestLag: Int64 = 180_000
    /// The longest pause that is filled with references: 1 s. A receiver loses the clock if a reference arrives later
    /// than its buffer lasts.
    private static let longestFill: Int64 = 90_000

    /// How far the clock is behind the decoding time that it follows, in 90 kHz ticks.
    private var delay: Int64
    /// The most, so far, by which audio was ahead of frames that arrived after it, in 90 kHz ticks.
    private var lead: Int64 = 0
    private var (video, audio): (Track?, Track?)
    /// The time of the newest clock reference, in 90 kHz ticks; nil before the first.
    private(set) var newest: Int64?

    /// Creates a clock for the tracks of `description`.
    init(_ description: StreamDescription) { delay = Self.delay(of: description) }

    /// Continues the clock when the stream changes to the tracks of `description`.
    mutating func adopt(_ description: StreamDescription) {
        let wanted = Self.delay(of: description)
        delay = newest == nil ? wanted : max(delay, wanted)
    }

    private static func delay(of description: StreamDescription) -> Int64 {
        guard let video = description.video else {
            guard let audio = description.audio, let format = audio.audioFormat else { return base }
            return base + spread(format.timeBase.rescale(Int64(audio.frameLength), to: .mpegTS))
        }
        return base + (video.hasSteadyRate ? spread(video.timeBase.rescale(1, to: .mpegTS)) : usualLag)
    }

    /// The time over which the references within a frame of this duration are spread; 0 if the frame needs only one.
    private static func spread(_ length: Int64) -> Int64 { length > interval ? min(length, longestFill) : 0 }

    /// Returns the references for a packet of `track` with decoding time `time` and duration `length`. `hasOwn` says
    /// whether the packet's first TS packet has room for a reference.
    mutating func next(_ track: TrackKind, at time: Int64, lasting length: Int64, hasOwn: Bool) -> Step {
        note(track, at: time, lasting: length)
        let times = [video?.time, audio.map { $0.time - (video == nil ? 0 : lead) }]
        guard let reference = times.compactMap(\.self).max() else { return Step() }
        let target = reference - delay
        let last = newest ?? target
        // The clock may advance by another 40 ms before the packet's last byte has arrived.
        if newest != nil, time - max(last, target) < Self.interval, reference - time <= Self.longestLag {
            return setBack(from: reference, for: time)
        }
        var step = Step()
        if newest == nil {
            step = advance(from: target, to: target, hasOwn: hasOwn)
        } else if target > last, hasOwn || soonest(behind: reference, length) - delay - last > Self.interval {
            step = advance(from: last, to: target, hasOwn: hasOwn)
        }
        if hasOwn, newest == target, length > Self.interval, length <= delay - Self.base {
            let count = (length - 1) / Self.interval
            step.within = (1...count).map { target + length * $0 / (count + 1) }
            newest = step.within.last
        }
        return step
    }

    private mutating func note(_ track: TrackKind, at time: Int64, lasting length: Int64) {
        switch track {
        case .video:
            if let audio { lead = min(max(lead, audio.time - time), Self.longestLag) }
            video = Track(time: max(time, video?.time ?? time), length: length)
        case .audio: audio = Track(time: max(time, audio?.time ?? time), length: length)
        case .data: break
        }
    }

    /// Restarts the clock with a larger delay, because the packet with decoding time `time` would be too late for the
    /// old delay.
    private mutating func setBack(from reference: Int64, for time: Int64) -> Step {
        let lag = reference - time
        delay = max(delay, Self.base + lag + lag / 4)
        newest = reference - delay
        return Step(before: [Reference(time: reference - delay, isDiscontinuous: true)])
    }

    private mutating func advance(from last: Int64, to target: Int64, hasOwn: Bool) -> Step {
        newest = target
        guard target - last <= Self.longestFill else {
            return Step(before: [Reference(time: target, isDiscontinuous: true)])
        }
        let count = max(0, target - last - 1) / Self.interval
        var step = Step(before: (0..<count).map { Reference(time: last + (target - last) * ($0 + 1) / (count + 1)) })
        if hasOwn { step.own = target } else { step.before.append(Reference(time: target)) }
        return step
    }

    /// The time at which the next packet is expected, on the stream's clock: the earliest among the tracks that are not
    /// overdue.
    private func soonest(behind reference: Int64, _ length: Int64) -> Int64 {
        let expected = [
            video.map { $0.time + $0.length },
            audio.map { $0.time + $0.length - (video == nil ? 0 : lead) },
        ]
        return expected.compactMap(\.self).filter { $0 > reference }.min() ?? reference + length
    }
}
