// SPDX-License-Identifier: Apache-2.0

internal import DequeModule
internal import LibAV
internal import Logging
internal import Media

/// A track that is decoded when it is due.
protocol LiveTrack: AnyObject {
    var decoder: TrackDecoder { get }
    /// Whether nothing will come of it any more.
    var isFinished: Bool { get }
    /// Decodes a frame or a run of audio and delivers it.
    func step(inputEnded: Bool) -> TrackDecoder.Progress
}

extension LiveAudioTrack: LiveTrack {}

extension VideoTrack: LiveTrack {
    func step(inputEnded: Bool) -> TrackDecoder.Progress { step(inputEnded: inputEnded, place: { ($0, nil) }) }
}

/// Decodes one track of a live source of packets, with a decoder for each coding: when the coding of the packets
/// changes, the decoder is emptied, and another one takes over. Used by one thread.
final class DecodingLane {
    /// Makes what decodes and delivers packets of this coding.
    typealias Maker = (TrackDescription) throws(AVFailure) -> any LiveTrack

    /// How much media time may wait to be decoded. What is older is given up.
    private static let timeLimit = Duration.seconds(60)

    private let kind: TrackKind
    private let timing: SourceTiming
    private let monitor: SourceMonitor
    private let name: String
    private let make: Maker
    private var current: (coding: TrackDescription, track: any LiveTrack)?
    /// What has not been given to a decoder's queue, because it is for the next one.
    private var waiting = Deque<PacketInbox.Placed>()
    private var isInterrupted = false
    private var hasFailed = false

    /// The lane of the track `kind` of the source that errors name `name`.
    init(_ kind: TrackKind, timing: SourceTiming, monitor: SourceMonitor, name: String, make: @escaping Maker) {
        self.kind = kind
        self.timing = timing
        self.monitor = monitor
        self.name = name
        self.make = make
    }

    /// Whether everything that came was delivered.
    var isEmpty: Bool { waiting.isEmpty && current.map { isInterrupted && $0.track.isFinished } ?? true }

    /// Takes the next packet of the track.
    func append(_ packet: PacketInbox.Placed) {
        waiting.append(packet)
        fill()
    }

    /// The sender is gone: the decoder gives what it holds.
    func interrupt() { isInterrupted = true }

    /// Forgets everything, so that decoding begins again with what follows.
    func restart() {
        current = nil
        waiting.removeAll()
        isInterrupted = false
    }

    /// Decodes a frame or a run of audio if it is time to at `now`. Returns whether anything was done.
    func step(now: Timestamp) -> Bool {
        fill()
        guard let (_, track) = current, !track.isFinished else { return false }
        let isEnding = isInterrupted || !waiting.isEmpty
        if let next = track.decoder.queue.firstTime {
            guard timing.isPlaced, timing.isTimeToDecode(next, of: kind, now: now) else { return false }
        } else if !isEnding {
            return false
        }
        switch track.step(inputEnded: isEnding) {
        case .needsPacket: return false
        case .advanced, .ended: return true
        case .failed(let failure):
            fail(failure)
            return true
        }
    }

    /// Gives the decoder what it can take, and makes another when it has given all it holds.
    private func fill() {
        while let next = waiting.first {
            if let (coding, track) = current, coding === next.packet.description {
                waiting.removeFirst()
                queue(next, for: track)
            } else if current == nil || current?.track.isFinished == true {
                // No decoder can decode a packet that refers to a missing frame.
                guard kind != .video || next.packet.isKeyframe, open(next.packet.description) else {
                    waiting.removeFirst()
                    continue
                }
            } else {
                return
            }
        }
    }

    private func queue(_ placed: PacketInbox.Placed, for track: any LiveTrack) {
        let base = placed.packet.timeBase
        do throws(AVFailure) {
            let box = try PacketBox(
                placed.packet, pts: TimeBase.nanoseconds.rescale(placed.time.nanoseconds, to: base),
                dts: TimeBase.nanoseconds.rescale(placed.decodeTime.nanoseconds, to: base), subject: name)
            track.decoder.queue.append(box)
            track.decoder.queue.trim(isLive: true)
        } catch {
            fail(error)
        }
    }

    private func open(_ coding: TrackDescription) -> Bool {
        do throws(AVFailure) {
            let track = try make(coding)
            track.decoder.queue.timeLimit = Self.timeLimit
            current = (coding, track)
            return true
        } catch {
            fail(error)
            return false
        }
    }

    /// The decoder is broken; another begins with the next keyframe.
    private func fail(_ failure: AVFailure) {
        current = nil
        monitor.update {
            $0.decodeErrors += 1
            $0.lastError = failure.description
        }
        if hasFailed { return }
        hasFailed = true
        monitor.logger.warning(
            "\(kind.rawValue) of the input cannot be decoded",
            metadata: ["input": "\(name)", "reason": "\(failure)"])
    }
}
