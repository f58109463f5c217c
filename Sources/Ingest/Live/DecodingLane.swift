// SPDX-License-Identifier: Apache-2.0

internal import DequeModule
internal import LibAV
internal import Logging
internal import Media

/// A track whose packets are decoded when they are due.
protocol LiveTrack: AnyObject {
    var decoder: TrackDecoder { get }
    /// Whether the track will deliver no more frames or audio.
    var isFinished: Bool { get }
    /// Decodes a frame, or a run of audio samples, and delivers it.
    func step(inputEnded: Bool) -> TrackDecoder.Progress
    /// Makes the track decode what is presented up to `time`, but not deliver it.
    func skip(upTo time: Timestamp)
}

extension LiveTrack {
    func skip(upTo time: Timestamp) {}
}

extension LiveAudioTrack: LiveTrack {}

extension VideoTrack: LiveTrack {
    /// The distance of two times that are the same although both were rounded to milliseconds.
    private static let rounding = Duration.milliseconds(2)

    func step(inputEnded: Bool) -> TrackDecoder.Progress {
        step(inputEnded: inputEnded) { pts in
            guard let pts, let skipped else { return (pts, nil) }
            return (Timestamp(pts, in: decoder.stream.timeBase) > skipped + Self.rounding ? pts : nil, nil)
        }
    }

    func skip(upTo time: Timestamp) { skipped = time }
}

/// Decodes one track of a live source, with one decoder for each codec configuration: when the codec configuration of
/// the packets changes, the old decoder is drained and a new one takes over. A new decoder also replaces a decoder that
/// breaks, or that refuses every packet (``DecodingRefusal``). Used by one thread.
final class DecodingLane {
    /// Makes the track that decodes and delivers packets of this codec configuration.
    typealias Maker = (LiveCoding) throws(AVFailure) -> any LiveTrack

    /// What a call of ``step(now:isHeld:)`` has done.
    enum Progress {
        /// Nothing was decoded: no packet was due, decoding was held, or the decoder needs another packet.
        case idle
        /// A frame or a run of audio was decoded, or the decoder was drained.
        case advanced
        /// A decoder broke, no decoder could be made, or a packet could not be prepared for the decoder. `isInVain` is
        /// false only if a new decoder has replaced the broken one and may work better: the broken decoder was not
        /// itself such a replacement, or it has delivered something.
        case failed(AVFailure, isInVain: Bool)
    }

    private let kind: TrackKind
    private let timing: SourceTiming
    private let monitor: SourceMonitor
    private let name: String
    private let make: Maker
    /// The current decoder, and the number of the connection whose packets it decodes.
    private var current: (coding: LiveCoding, connection: Int, track: any LiveTrack)?
    /// Packets that are not in the queue of the current decoder yet, each with the number of its connection. If the
    /// first of them has another codec configuration or came on another connection, they wait for the next decoder.
    private var waiting = Deque<(packet: LivePacket, connection: Int)>()
    /// Bytes of the packets in `waiting`.
    private var waitingBytes = 0
    /// The number of the connection that delivers packets now: how often the input continued after an interruption.
    private var connection = 0
    /// The presentation time of the latest packet.
    private var latest: Timestamp?
    /// Up to this presentation time, the packets of a connection repeat those of the connection before. The keys are
    /// the numbers of the connections that may repeat packets.
    private var repeated: [Int: Timestamp] = [:]
    private var isInterrupted = false
    /// Whether making a decoder has failed, or a decoder lacked a library, since a decoder last delivered a frame or
    /// audio, or since the last restart.
    private var isUndecodable = false
    /// The failure to make a decoder, or the missing library, that was logged last; nil if none was logged since a
    /// decoder last delivered a frame or audio.
    private var logged: AVFailure?
    /// Whether the lane has logged, since its last restart, that the queue of a decoder was full.
    private var isFullLogged = false
    /// The maximum media time that may be queued for decoding.
    private var timeLimit = LiveOpening.usualTimeLimit

    /// Creates the lane for the `kind` track of a source. `name` is the source's name in error messages.
    init(_ kind: TrackKind, timing: SourceTiming, monitor: SourceMonitor, name: String, make: @escaping Maker) {
        self.kind = kind
        self.timing = timing
        self.monitor = monitor
        self.name = name
        self.make = make
    }

    /// Whether all packets that were appended are decoded and delivered. While there is a decoder, this is false until
    /// the sender has disconnected and the decoder is drained.
    var isEmpty: Bool { waiting.isEmpty && current.map { isInterrupted && $0.track.isFinished } ?? true }

    /// Bytes in the queue of the current decoder, and of the packets that wait for the next one.
    var bytes: Int { (current?.track.decoder.queue.bytes ?? 0) + waitingBytes }

    /// Queues the next packet of the track. Drops audio that another connection has already delivered. Video that was
    /// delivered before is decoded again, because the frames behind it refer to it, but not shown.
    func append(_ packet: LivePacket) {
        if kind == .audio, let end = repeated[connection], packet.time <= end { return }
        latest = max(latest ?? packet.time, packet.time)
        waiting.append((packet, connection))
        waitingBytes += packet.size
    }

    /// Records that the sender has disconnected, so that the decoder is drained.
    func interrupt() { isInterrupted = true }

    /// Records that the input continues after ``interrupt()``, coded in another way or on another connection: its packets
    /// need another decoder. If the new connection `mayRepeat` packets, what was shown is not shown again.
    func resume(mayRepeat: Bool = false) {
        isInterrupted = false
        connection += 1
        if mayRepeat { repeated[connection] = latest }
    }

    /// Releases the decoder if the sender has disconnected and all of its packets are decoded. A decoder can hold much
    /// memory, and the next sender might come only after a long time.
    func rest() { if isInterrupted, waiting.isEmpty, current?.track.isFinished == true { current = nil } }

    /// Drops all packets and the decoder. Decoding begins again with the packets that follow; at most `timeLimit` of
    /// media may be queued.
    func restart(timeLimit: Duration) {
        current = nil
        waiting.removeAll()
        (waitingBytes, latest, repeated) = (0, nil, [:])
        (isInterrupted, isUndecodable, isFullLogged) = (false, false, false)
        self.timeLimit = timeLimit
    }

    /// Decodes a frame, or a run of audio samples, if it is due at `now`. Decodes nothing if `isHeld` is set; the
    /// queue's limits apply nevertheless.
    func step(now: MonotonicInstant, isHeld: Bool = false) -> Progress {
        if let failure = fill(at: now) { return .failed(failure, isInVain: true) }
        guard !isHeld, let (_, number, track) = current, !track.isFinished else { return .idle }
        let isEnding = isInterrupted || !waiting.isEmpty || number != connection
        if let next = track.decoder.queue.firstTime {
            guard timing.isPlaced, timing.isTimeToDecode(next, of: kind, now: now) else { return .idle }
        } else if !isEnding {
            return .idle
        }
        switch track.step(inputEnded: isEnding) {
        case .needsPacket: return .idle
        case .advanced:
            (isUndecodable, logged) = (false, nil)
            return .advanced
        case .ended: return .advanced
        case .failed(let failure): return replace(after: failure)
        }
    }

    /// Queues packets for the decoder. If the next packet has another codec configuration, makes a new decoder once the
    /// current decoder is drained. Returns the failure if a decoder cannot be made, or if a packet cannot be prepared
    /// for the decoder.
    private func fill(at now: MonotonicInstant) -> AVFailure? {
        while let (next, number) = waiting.first {
            if let (coding, own, track) = current, own == number, coding.isSame(as: next.coding) {
                removeFirstWaiting()
                if let failure = queue(next, for: track, at: now) { return failure }
            } else if current == nil || current?.track.isFinished == true {
                guard mayBegin(with: next) else {
                    removeFirstWaiting()
                    continue
                }
                do throws(AVFailure) {
                    current = (next.coding, number, try track(of: next.coding))
                    repeated = repeated.filter { $0.key >= number }
                    if let end = repeated[number] { current?.track.skip(upTo: end) }
                } catch {
                    removeFirstWaiting()
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

    private func removeFirstWaiting() { if let first = waiting.popFirst() { waitingBytes -= first.packet.size } }

    /// Whether a new decoder can begin with this packet.
    private func mayBegin(with packet: LivePacket) -> Bool {
        kind == .audio || packet.isKeyframe || packet.coding.beginsAnywhere && !isUndecodable
    }

    private func track(of coding: LiveCoding) throws(AVFailure) -> any LiveTrack {
        let track = try make(coding)
        track.decoder.queue.timeLimit = timeLimit
        track.decoder.queue.makeRoom(forWaiting: timing.longestWait)
        return track
    }

    private func queue(_ packet: LivePacket, for track: any LiveTrack, at now: MonotonicInstant) -> AVFailure? {
        do throws(AVFailure) {
            let box = try packet.box(subject: name)
            if isFull(track.decoder.queue, for: box.size, at: now) {
                tellFull(track.decoder.queue.byteLimit)
                return nil
            }
            track.decoder.queue.append(box)
            track.decoder.queue.trim(isLive: true)
            return nil
        } catch {
            return error
        }
    }

    /// Whether `queue` has no room for `size` more bytes while its first packet is not due yet. In that case the new
    /// packet is dropped. If the oldest packets were dropped instead, no packet would ever become due.
    private func isFull(_ queue: CompressedQueue, for size: Int, at now: MonotonicInstant) -> Bool {
        guard queue.bytes + size > queue.byteLimit, let first = queue.firstTime, timing.isPlaced else { return false }
        return !timing.isTimeToDecode(first, of: kind, now: now)
    }

    private func tellFull(_ limit: Int) {
        monitor.update { $0.decodeErrors += 1 }
        if isFullLogged { return }
        isFullLogged = true
        monitor.logger.warning(
            "the buffer of the input is full: packets are left out",
            metadata: [
                "input": "\(name)", "track": "\(kind.rawValue)",
                "reason": "its rate is too high for its latency= and delay: the buffer has \(limit >> 20) MiB",
            ])
    }

    /// Replaces a broken decoder by a new one, which gets the packets that are still queued. If the broken decoder
    /// needs a library that is not installed, only releases it.
    private func replace(after failure: AVFailure) -> Progress {
        guard let (coding, number, old) = current else { return .idle }
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
            if let end = repeated[number] { new.skip(upTo: end) }
            current = (coding, number, new)
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

    /// Records that a decoder could not be made or lacks a library. Logs the failure, unless the same one was logged
    /// last: an input is opened again and again while its coding cannot be decoded.
    private func tell(_ failure: AVFailure) {
        monitor.noteDamage(failure)
        isUndecodable = true
        if logged == failure { return }
        logged = failure
        monitor.logger.warning(
            "\(kind.rawValue) of the input cannot be decoded", metadata: ["input": "\(name)", "reason": "\(failure)"])
    }
}
