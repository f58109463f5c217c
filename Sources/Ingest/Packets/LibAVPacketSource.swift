// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import LibAV
package import Logging
internal import Media
internal import Synchronization

/// The packets of a file, URL or device that libav reads.
///
/// A file ends with its last packet, or loops: each round then continues where the last packet of the previous round
/// ended. A live input that ends or fails is opened again by ``ReopenLoop``, as often as necessary. An input whose
/// coding changes is opened again at once, a live one only if it does not change too often.
package final class LibAVPacketSource: PacketSource {
    private let location: InputLocation
    private let loops: Bool
    private let decodesOtherAudio: Bool
    private let monitor: SourceMonitor
    private let queue: DispatchQueue
    private let opened = Mutex<PacketInput?>(nil)
    private let startOnce = StartOnce()

    /// Creates a source at `location` that is not open yet. If `decodesOtherAudio` is set, audio in a codec that no
    /// output carries is decoded and delivered as ``Media/Codec/pcm``, for a program that encodes its audio; otherwise
    /// such an input is refused. `opening` can cancel the call of ``open()``.
    package init(
        _ location: InputLocation, loops: Bool, decodesOtherAudio: Bool = false, logger: Logger,
        opening: SourceOpening? = nil
    ) {
        self.location = location
        self.loops = loops
        self.decodesOtherAudio = decodesOtherAudio
        monitor = opening?.monitor ?? SourceMonitor(logger: logger)
        monitor.findStalls(of: location)
        queue = DispatchQueue(label: "relay.ingest.\(location.description)")
    }

    package var status: SourceStatus { monitor.status }

    package func open() throws(IngestError) -> PacketSourceDescription {
        // The lock can be held while the opening blocks, because no other thread takes it before the source is open.
        try opened.withLock { (opened) throws(IngestError) in
            let input = try PacketInput(location, decodesOtherAudio: decodesOtherAudio, monitor: monitor)
            opened = input
            return input.description
        }
    }

    package func start(into sink: any PacketSourceSink) {
        guard startOnce.begin() else { return }
        queue.async { [self] in deliver(into: sink) }
    }

    package func stop() { monitor.stop() }

    /// What the rounds of a looped file have delivered. A file that is replaced by one without media would otherwise be
    /// opened again and again without a pause.
    private struct Rounds {
        /// Whether a part of the current round has delivered packets, and whether a part of any round has.
        private var (hasMedia, hasPlayed) = (false, false)
        /// Whether a file that has been played lacks media now, so that it is opened again after a pause.
        private(set) var awaitMedia = false

        /// Records the end of a part of the file.
        mutating func endPart(hasMedia isFilled: Bool) {
            guard isFilled else { return }
            (hasMedia, hasPlayed, awaitMedia) = (true, true, false)
        }

        /// Records the end of the current round. Returns whether it has delivered packets.
        mutating func endRound() -> Bool {
            defer { hasMedia = false }
            return hasMedia
        }

        /// Records that a round has failed.
        mutating func fail(_ failure: IngestError) {
            hasMedia = false
            if case .empty = failure { awaitMedia = hasPlayed }
        }
    }

    private func deliver(into sink: any PacketSourceSink) {
        var next = opened.withLock { input in
            defer { input = nil }
            return input
        }
        let isLive = next?.isLive ?? false
        let loop = ReopenLoop(location.description, monitor: monitor, isLive: isLive)
        var isSkipping = false
        var rounds = Rounds()
        let failure = loop.run(lasts: { [monitor] _ in isLive || monitor.isAtChange || rounds.awaitMedia }) {
            // The input is moved to a local variable, so that it is closed when this closure returns: the input's
            // address must be free before it can be opened again.
            var input = next
            next = nil
            let isBehindChange = monitor.continues
            do throws(IngestError) {
                if input == nil {
                    input = try reopen(in: loop)
                    sink.restart()
                }
                monitor.update { $0.state = .running }
                try input?.read(into: sink, loops: loops && !isLive)
                input?.keepConnection()
                rounds.endPart(hasMedia: input?.hasMedia == true)
                if loops, !isLive, !monitor.isStopped, !monitor.continues { try beginRound(&rounds) }
                return nil
            } catch {
                guard loops, !isLive, isBehindChange, !monitor.isStopped, rounds.endRound() else {
                    if loops { rounds.fail(error) }
                    return error
                }
                // The part of the file in front of the change of coding can be played, so the next round begins there.
                skip(because: error, isNew: !isSkipping)
                isSkipping = true
                return nil
            }
        }
        sink.end(failure: failure?.description)
    }

    /// Makes the next round of a looped file begin at the file's start. Throws if this round has delivered nothing.
    private func beginRound(_ rounds: inout Rounds) throws(IngestError) {
        guard rounds.endRound() else { throw IngestError.empty(input: location.description) }
        monitor.beginAgain()
    }

    /// Makes a looped file begin again, because the part behind a change of its coding cannot be used. `isNew` is true
    /// the first time; later failures are not logged.
    private func skip(because failure: IngestError, isNew: Bool) {
        monitor.update { $0.lastError = failure.description }
        if isNew {
            monitor.logger.warning(
                "the file changes its coding, and what follows cannot be used; the loop begins again there",
                metadata: ["input": "\(location.description)", "reason": "\(failure)"])
        }
        monitor.beginAgain()
    }

    private func reopen(in loop: ReopenLoop) throws(IngestError) -> PacketInput {
        try loop.reopen(
            { () throws(IngestError) in
                try PacketInput(
                    location, isReopened: true, decodesOtherAudio: decodesOtherAudio, monitor: monitor)
            }, streams: { $0.streams })
    }
}
