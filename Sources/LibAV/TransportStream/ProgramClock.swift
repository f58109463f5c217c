// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Decides what the clock of a transport stream says, and where (ISO/IEC 13818-1, 2.4.2 and 2.7.2).
///
/// The clock follows the newest frame at a fixed distance, so that it goes as evenly as frames come, and the audio where
/// frames are overdue. It only goes forward, in steps of at most 40 ms, and what is decoded at a time arrives before the
/// clock says that time. The tracks of a sender need not come in decoding order: the distance covers audio that comes
/// later than the frames of its time, and audio that comes earlier does not drive the clock.
///
/// Where nothing came for longer than a second, or a track comes later than the distance covers, a new time begins and the
/// stream says so. All times are ticks of 90 kHz as in the stream. A value without I/O.
struct ProgramClock {
    /// What the clock says in one place.
    struct Reference: Equatable {
        var time: Int64
        /// Whether a new time begins here.
        var isDiscontinuous = false
    }

    /// The references that come with one frame or one audio frame.
    struct Step: Equatable {
        /// References in front of it.
        var before: [Reference] = []
        /// The time in its first packet; nil if that has no reference.
        var own: Int64?
        /// Times of references that are spread evenly between its packets.
        var within: [Int64] = []
    }

    private struct Track {
        /// The decoding time of the newest packet.
        var time: Int64
        /// How long that packet lasts.
        var length: Int64
    }

    /// The longest time between two references (ETSI TR 101 290, 2.3a: 40 ms).
    private static let interval: Int64 = 3600
    /// The time that a receiver has at least to receive a frame: 50 ms.
    private static let base: Int64 = 4500
    /// How much later than the other track one of a foreign sender may come at the beginning, 400 ms: usual muxers gather
    /// audio for up to 350 ms.
    private static let usualLag: Int64 = 36_000
    /// The most that a track is waited for, 2 s: what is later has lost its track's time.
    private static let longestLag: Int64 = 180_000
    /// The longest silence that is filled with references, 1 s. Receivers that buffer less lose a clock that comes too late.
    private static let longestFill: Int64 = 90_000

    /// Time from what the clock says to the decoding time that it follows.
    private var delay: Int64
    /// How far the audio is ahead of the frames that arrive behind it, at most.
    private var lead: Int64 = 0
    private var (video, audio): (Track?, Track?)
    /// What the clock said last.
    private(set) var newest: Int64?

    /// A clock for the tracks of `description`.
    init(_ description: StreamDescription) { delay = Self.delay(of: description) }

    /// The tracks are those of `description` from here on.
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

    /// The time over which references are put into a frame of this length.
    private static func spread(_ length: Int64) -> Int64 { length > interval ? min(length, longestFill) : 0 }

    /// What comes with the packet of `track` that is decoded at `time` and lasts for `length`. `hasOwn` says whether its first
    /// packet has room for a reference.
    mutating func next(_ track: TrackKind, at time: Int64, lasting length: Int64, hasOwn: Bool) -> Step {
        note(track, at: time, lasting: length)
        let times = [video?.time, audio.map { $0.time - (video == nil ? 0 : lead) }]
        guard let reference = times.compactMap(\.self).max() else { return Step() }
        let target = reference - delay
        let last = newest ?? target
        // The clock says up to 40 ms more before the packet's last byte has arrived.
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

    /// The packet that is decoded at `time` would come too late for the clock: it begins again, with more time for what
    /// comes so late.
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

    /// When the next packet is expected, as the clock counts: the earliest of the tracks that are not overdue.
    private func soonest(behind reference: Int64, _ length: Int64) -> Int64 {
        let expected = [
            video.map { $0.time + $0.length },
            audio.map { $0.time + $0.length - (video == nil ? 0 : lead) },
        ]
        return expected.compactMap(\.self).filter { $0 > reference }.min() ?? reference + length
    }
}
