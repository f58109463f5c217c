// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
package import Logging
package import Media
package import Networking
package import RTMP
internal import SourceClock
internal import Synchronization

/// The packets of a stream that clients publish to relay by RTMP, one client at a time.
///
/// The server's event loop passes the packets on as they arrive. While no client publishes, no packets arrive; the next
/// publisher continues the stream.
package final class RTMPServerSource: PacketSource {
    fileprivate struct State {
        var reader = RTMPPacketReader()
        var wait: PublisherWait
        /// How many of the reader's complaints were logged.
        var toldComplaints = 0
        /// Packets that arrived before ``start(into:)``.
        var pending: [(packet: EncodedPacket, arrival: MonotonicInstant)] = []
        var pendingBytes = 0
        var sink: (any PacketSourceSink)?
        var registration: RTMPServer.Registration?
        var publication: RTMPPublication?
        var status = SourceStatus()
        var hasPublished = false
        var isStopped = false

        init(needs: TrackKind?) { wait = PublisherWait(for: needs) }
    }

    /// The maximum number of bytes that are kept until ``start(into:)``. Above this limit the packets are dropped, and
    /// the stream begins with a later keyframe.
    private static let longestPending = 32 << 20

    private let url: RTMPListenURL
    private let server: RTMPServer
    private let identity: TLSServerIdentity?
    private let authorization: RTMPAuthorization?
    private let clock: any MonotonicClock
    private let logger: Logger
    private let state: Mutex<State>
    /// Signalled after each change for which ``open()`` waits.
    private let changed = DispatchSemaphore(value: 0)

    /// Creates a source of the stream that clients publish to `server` at `url`, which is the address of an input.
    /// `identity` is needed if the address uses TLS. `authorization` decides about each client that has the stream key.
    /// If `needs` is given, ``open()`` waits for a publisher that has a track of this kind.
    package init(
        _ url: RTMPListenURL, server: RTMPServer, identity: TLSServerIdentity?, authorization: RTMPAuthorization? = nil,
        needs: TrackKind? = nil, clock: any MonotonicClock = SystemClock(), logger: Logger
    ) {
        state = Mutex(State(needs: needs))
        (self.url, self.server, self.identity) = (url, server, identity)
        (self.authorization, self.clock, self.logger) = (authorization, clock, logger)
    }

    package var status: SourceStatus { state.withLock { $0.status } }

    package func open() throws(IngestError) -> PacketSourceDescription {
        do throws(OutputFailure) {
            let registration = try server.receive(url, identity: identity, authorization: authorization, receiver: self)
            let isStopped = state.withLock { state in
                if !state.isStopped { state.registration = registration }
                return state.isStopped
            }
            if isStopped { registration.cancel() }
        } catch {
            throw IngestError.cannotBeOpened(input: url.description, reason: error.reason)
        }
        logger.info("waiting for a publisher", metadata: ["input": "\(url)"])
        return PacketSourceDescription(stream: try awaitTracks(), canWait: false, clock: .rtmp, stampBits: 32)
    }

    /// Blocks until a publisher's tracks are known.
    private func awaitTracks() throws(IngestError) -> StreamDescription {
        while true {
            let now = clock.now
            let (decision, stream, isStopped) = state.withLock { state in
                let decision = state.wait.decide(on: state.reader, at: now)
                if decision == .useless {
                    (state.pending, state.pendingBytes) = ([], 0)
                    state.status.lastError = "The publisher lacks the video or audio that this input needs."
                }
                return (decision, state.reader.measuredStream, state.isStopped)
            }
            if isStopped { throw IngestError.empty(input: url.description) }
            switch decision {
            case .known: return stream
            case .useless:
                logger.warning(
                    "the publisher lacks a track that this input needs; waiting for it, or for the next publisher",
                    metadata: ["input": "\(url)"])
            case .wait(until: nil): changed.wait()
            case .wait(until: let limit?):
                _ = changed.wait(timeout: .now() + .nanoseconds(Int((limit - now).inNanoseconds)))
            }
        }
    }

    package func start(into sink: any PacketSourceSink) {
        state.withLock { state in
            guard state.sink == nil, !state.isStopped else { return }
            state.sink = sink
            for (packet, arrival) in state.pending { sink.take(packet, at: arrival) }
            state.pending = []
        }
    }

    package func stop() {
        let (registration, sink) = state.withLock { state in
            state.isStopped = true
            state.status.state = .ended
            defer { (state.registration, state.sink) = (nil, nil) }
            return (state.registration, state.sink)
        }
        registration?.cancel()
        changed.signal()
        sink?.end(failure: nil)
    }
}

extension RTMPServerSource: RTMPStreamReceiver {
    package func publicationBegan(_ publication: RTMPPublication) {
        state.withLock { state in
            state.publication = publication
            state.reader = RTMPPacketReader()
            state.wait.restart()
            state.toldComplaints = 0
            (state.pending, state.pendingBytes) = ([], 0)
            state.status.state = .running
            if state.hasPublished { state.status.reopens += 1 }
            state.hasPublished = true
            state.sink?.restart()
        }
        logger.notice(
            "a publisher is here",
            metadata: [
                "input": "\(url)", "address": "\(publication.address)", "client": "\(publication.request.client)",
            ])
    }

    package func publication(_ publication: RTMPPublication, sent message: RTMPPublishedMessage) {
        let arrival = clock.now
        let complaints = state.withLock { state in
            guard state.publication === publication, !state.isStopped else { return [String]() }
            let before = state.sink == nil ? state.reader : nil
            let packet = state.reader.read(message)
            if let before, !before.knowsAsMuch(as: state.reader) { changed.signal() }
            if let packet { state.hand(on: packet, arrival, limit: Self.longestPending) }
            let all = state.reader.complaints
            state.status.uncarriedTracks = state.reader.uncarriedTracks
            defer { state.toldComplaints = all.count }
            return Array(all.dropFirst(state.toldComplaints))
        }
        for complaint in complaints {
            logger.warning("something that is published is left out: \(complaint)", metadata: ["input": "\(url)"])
        }
    }

    package func publication(_ publication: RTMPPublication, ended end: RTMPPublication.End) {
        let isStopped = state.withLock { state in
            if state.publication === publication { state.publication = nil }
            if !state.isStopped {
                state.status.state = .waiting
                state.status.lastError = "The publisher is gone: \(end)."
                // Before the source is started, each publisher must describe the stream from the beginning.
                if state.sink == nil {
                    state.reader = RTMPPacketReader()
                    state.wait.restart()
                }
                state.sink?.interrupt()
            }
            return state.isStopped
        }
        if isStopped { return }
        changed.signal()
        logger.warning(
            "the publisher is gone; the next publisher continues the stream",
            metadata: ["input": "\(url)", "reason": "\(end)"])
    }
}

extension RTMPServerSource.State {
    fileprivate mutating func hand(on packet: EncodedPacket, _ arrival: MonotonicInstant, limit: Int) {
        status.packetsRead += 1
        if let sink { return sink.take(packet, at: arrival) }
        // Packets of a publisher that lacks the needed track are not kept until that track comes.
        if wait.isUseless, !wait.isSatisfied(by: reader.stream) { return }
        pending.append((packet, arrival))
        pendingBytes += packet.payload.count
        if pendingBytes > limit { (pending, pendingBytes) = ([], 0) }
    }
}
