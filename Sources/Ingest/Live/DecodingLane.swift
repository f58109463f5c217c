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

/// Decodes one track of a live source, with a decoder for each coding: when the coding of the packets changes, the
/// decoder is emptied, and another one takes over. A decoder that breaks, or that refuses everything (``DecodingRefusal``),
/// is replaced by another one of the same coding. Used by one thread.
final class DecodingLane {
    /// Makes what decodes and delivers packets of this coding.
    typealias Maker = (LiveCoding) throws(AVFailure) -> any LiveTrack

    /// What a step came to.
    enum Progress {
        /// There was nothing to do.
        case idle
        /// Something was decoded.
        case advanced
        /// A decoder broke. `isInVain` if it had taken over from another one that gave nothing, or none could be made.
        case failed(AVFailure, isInVain: Bool)
    }

    private let kind: TrackKind
    private let timing: SourceTiming
    private let monitor: SourceMonitor
    private let name: String
    private let make: Maker
    private var current: (coding: LiveCoding, track: any LiveTrack)?
    /// What has not been given to a decoder's queue, because it is for the next one.
    private var waiting = Deque<LivePacket>()
    private var isInterrupted = false
    /// Whether no decoder could be made in this opening since one gave something.
    private var isUndecodable = false
    /// Whether that was logged since a decoder gave something.
    private var isLogged = false
    /// How much media time may wait to be decoded.
    private var timeLimit = LiveOpening.usualTimeLimit

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

    /// Bytes that wait to be decoded.
    var bytes: Int { current?.track.decoder.queue.bytes ?? 0 }

    /// Takes the next packet of the track.
    func append(_ packet: LivePacket) { waiting.append(packet) }

    /// The sender is gone: the decoder gives what it holds.
    func interrupt() { isInterrupted = true }

    /// Forgets everything, so that decoding begins again with what follows, of which media of `timeLimit` may wait.
    func restart(timeLimit: Duration) {
        current = nil
        waiting.removeAll()
        (isInterrupted, isUndecodable) = (false, false)
        self.timeLimit = timeLimit
    }

    /// Decodes a frame or a run of audio if it is time to at `now` and the track is not `isHeld`. What waits is bounded in each
    /// case.
    func step(now: Timestamp, isHeld: Bool = false) -> Progress {
        if let failure = fill() { return .failed(failure, isInVain: true) }
        guard !isHeld, let (_, track) = current, !track.isFinished else { return .idle }
        let isEnding = isInterrupted || !waiting.isEmpty
        if let next = track.decoder.queue.firstTime {
            guard timing.isPlaced, timing.isTimeToDecode(next, of: kind, now: now) else { return .idle }
        } else if !isEnding {
            return .idle
        }
        switch track.step(inputEnded: isEnding) {
        case .needsPacket: return .idle
        case .advanced:
            (isUndecodable, isLogged) = (false, false)
            return .advanced
        case .ended: return .advanced
        case .failed(let failure): return replace(after: failure)
        }
    }

    /// Gives the decoder what it can take, and makes another when it has given all it holds. Returns why none can be made.
    private func fill() -> AVFailure? {
        while let next = waiting.first {
            if let (coding, track) = current, coding.isSame(as: next.coding) {
                waiting.removeFirst()
                if let failure = queue(next, for: track) { return failure }
            } else if current == nil || current?.track.isFinished == true {
                guard mayBegin(with: next) else {
                    waiting.removeFirst()
                    continue
                }
                do throws(AVFailure) {
                    current = (next.coding, try track(of: next.coding))
                } catch {
                    waiting.removeFirst()
                    current = nil
                    tell(error)
                    return error
                }
            } else {
                return nil
            }
        }
        return nil
    }

    /// Whether a decoder may be made for this packet.
    private func mayBegin(with packet: LivePacket) -> Bool {
        kind == .audio || packet.isKeyframe || packet.coding.beginsAnywhere && !isUndecodable
    }

    private func track(of coding: LiveCoding) throws(AVFailure) -> any LiveTrack {
        let track = try make(coding)
        track.decoder.queue.timeLimit = timeLimit
        return track
    }

    private func queue(_ packet: LivePacket, for track: any LiveTrack) -> AVFailure? {
        do throws(AVFailure) {
            track.decoder.queue.append(try packet.box(subject: name))
            track.decoder.queue.trim(isLive: true)
            return nil
        } catch {
            return error
        }
    }

    /// Lets another decoder take over what waits, because this one is broken.
    private func replace(after failure: AVFailure) -> Progress {
        guard let (coding, old) = current else { return .idle }
        if failure.isMissingLibrary {
            current = nil
            tell(failure)
            return .failed(failure, isInVain: true)
        }
        monitor.update { $0.lastError = failure.description }
        let isInVain = old.decoder.refusal.replacements > 0
        do throws(AVFailure) {
            let new = try track(of: coding)
            new.decoder.takeOver(from: old.decoder, beginsAnywhere: kind == .audio || coding.beginsAnywhere)
            current = (coding, new)
        } catch {
            current = nil
            tell(error)
            return .failed(error, isInVain: true)
        }
        monitor.logger.warning(
            "a decoder refused everything and was replaced",
            metadata: ["track": "\(kind.rawValue)", "codec": "\(old.decoder.stream.codecName)", "reason": "\(failure)"])
        return .failed(failure, isInVain: isInVain)
    }

    /// Counts that nothing can be decoded, and logs it once until a decoder gave something.
    private func tell(_ failure: AVFailure) {
        monitor.noteDamage(failure)
        isUndecodable = true
        if isLogged { return }
        isLogged = true
        monitor.logger.warning(
            "\(kind.rawValue) of the input cannot be decoded",
            metadata: ["input": "\(name)", "reason": "\(failure)"])
    }
}
