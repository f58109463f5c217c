// SPDX-License-Identifier: Apache-2.0

internal import Media
internal import NIOCore
internal import Networking

/// One connection of a listener: passes bytes to the session, enforces deadlines, requests authorization, and forwards
/// messages.
///
/// All methods run on the listener's event loop.
final class RTMPServerHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private enum Phase {
        /// Before a request to publish or play.
        case waiting
        /// The authorization of the client's request is pending.
        case deciding(RTMPStreamRequest, Task<Void, Never>?)
        case publishing(RTMPPublication, RTMPEndpoint)
        /// The player is being handed over to the output that serves it.
        case joining
        /// The client was told why the connection ends, and the connection is about to be closed.
        case leaving
        case closed
    }

    private let listener: RTMPListener
    private let id: UInt64
    private let address: String
    private let network: ClientNetwork
    private var session = RTMPServerSession()
    private var phase = Phase.waiting
    private var context: ChannelHandlerContext?
    /// Received bytes that wait to be processed, because the authorization is pending or the receiver of the stream has
    /// no room.
    private var held = ByteBuffer()
    private var isPaused = false
    private var deadline: Scheduled<Void>?
    private var lastReceived = NIODeadline.now()

    init(listener: RTMPListener, id: UInt64, address: String) {
        self.listener = listener
        self.id = id
        self.address = address
        network = ClientNetwork(address)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        expect("the handshake", within: listener.limits.handshakeTime)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        deadline?.cancel()
        self.context = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        lastReceived = .now()
        switch phase {
        case .leaving, .closed: return
        case .publishing(let publication, _): publication.received(bytes.readableBytes, isRead: !isPaused)
        default: break
        }
        if held.readableBytes == 0 { held = bytes } else { held.writeBuffer(&bytes) }
        take()
    }

    /// Processes the held bytes as far as possible.
    private func take() {
        var cursor = 0
        let bytes = held.slice()  // the slice begins at index 0
        held = ByteBuffer()
        loop: while true {
            switch phase {
            case .waiting, .publishing: if isPaused { break loop }
            case .deciding, .joining: break loop
            case .leaving, .closed: return
            }
            do throws(RTMPServerSession.Failure) {
                let before = session.phase
                let event = try session.next(in: bytes.readableBytesUInt8Span, at: &cursor)
                if before == .handshake, session.phase != .handshake {
                    expect("a wish to publish or to play", within: listener.limits.requestTime)
                }
                send()
                guard let event else { return }
                if case .requested(let request) = event {
                    held = bytes.getSlice(at: cursor, length: bytes.writerIndex - cursor) ?? ByteBuffer()
                    return decide(request)
                }
                handle(event)
            } catch {
                send()
                return leave(because: "\(error)", .broken)
            }
        }
        held = bytes.getSlice(at: cursor, length: bytes.writerIndex - cursor) ?? ByteBuffer()
    }

    private func handle(_ event: RTMPServerSession.Event) {
        switch (event, phase) {
        case (.message(let message), .publishing(let publication, let endpoint)):
            if case .receive(let receiver) = endpoint.purpose { receiver.publication(publication, sent: message) }
        case (.ended, _):
            end(.unpublished)
            listener.note(id, isWaiting: true)
            expect("a wish to publish or to play", within: listener.limits.requestTime)
        default: break
        }
    }

    private func send() {
        let bytes = session.takeAnswers()
        guard !bytes.isEmpty, let context else { return }
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: bytes)), promise: nil)
    }

    /// Turns reading on or off. While reading is off, data stays with the client.
    private func read(_ isWanted: Bool) { try? context?.channel.syncOptions?.setOption(.autoRead, value: isWanted) }
}

extension RTMPServerHandler {
    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if !context.channel.isWritable { leave(because: "it does not read what it is told", .deaf, at: .zero) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        close(.disconnected)
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        let words = TLSServerIdentity.words(of: error)
        if let words, TLSServerIdentity.isHandshakeFailure(error) {
            return leave(because: "the TLS handshake failed: \(words)", .broken, at: .zero)
        }
        close(words.map { .failed("the connection failed: \($0)") } ?? .disconnected)
        context.close(promise: nil)
    }

    /// Sets a deadline for the client's next step.
    private func expect(_ what: String, within time: Duration) {
        deadline?.cancel()
        deadline = schedule(after: time) {
            $0.leave(because: "\(what) did not come within \(time.inMilliseconds) ms", .late)
        }
    }

    /// Closes the connection of a publisher that is silent for too long.
    private func watch() {
        let silence = listener.limits.silence
        let left = isPaused ? silence : silence - .nanoseconds((NIODeadline.now() - lastReceived).nanoseconds)
        deadline?.cancel()
        deadline = schedule(after: max(left, .milliseconds(1))) { handler in
            guard !handler.isPaused, .now() - handler.lastReceived >= .nanoseconds(silence.inNanoseconds) else {
                return handler.watch()
            }
            handler.end(.silent(seconds: silence.components.seconds))
            handler.leave(because: "nothing came for \(silence.components.seconds) s", .late, at: .zero)
        }
    }

    private func schedule(after time: Duration, _ work: @escaping (RTMPServerHandler) -> Void) -> Scheduled<Void>? {
        guard let loop = context?.eventLoop else { return nil }
        let work = NIOLoopBound((self, work), eventLoop: loop)
        return loop.scheduleTask(in: .nanoseconds(time.inNanoseconds)) { work.value.1(work.value.0) }
    }

    /// Closes the connection after `time`, in which the client can read its last message. By default, `time` is
    /// ``RTMPServerLimits/refusalTime``.
    private func leave(because reason: String, _ cause: RTMPServerStatus.Cause, at time: Duration? = nil) {
        switch phase {
        case .leaving, .closed: return
        default: break
        }
        listener.count(cause)
        listener.notice("RTMP at \(listener.name): the connection of \(address) is closed: \(reason).")
        end(.failed(reason))
        if case .deciding(_, let task) = phase { task?.cancel() }
        phase = .leaving
        held = ByteBuffer()
        deadline?.cancel()
        // Further data of the client is read and discarded: closing a socket with unread data sends a reset, because of
        // which the client can lose the last message.
        read(true)
        let time = time ?? listener.limits.refusalTime
        guard time > .zero else { return finish() }
        deadline = schedule(after: time) { $0.finish() }
    }

    private func finish() { context?.close(promise: nil) }

    private func close(_ end: RTMPPublication.End) {
        self.end(end)
        if case .deciding(_, let task) = phase { task?.cancel() }
        phase = .closed
        deadline?.cancel()
        held = ByteBuffer()
    }

    /// Ends the publication, if there is one.
    private func end(_ end: RTMPPublication.End) {
        guard case .publishing(let publication, let endpoint) = phase else { return }
        phase = .waiting
        isPaused = false
        endpoint.end(publication)
        if case .receive(let receiver) = endpoint.purpose { receiver.publication(publication, ended: end) }
    }
}

extension RTMPServerHandler {
    private func decide(_ request: RTMPStreamRequest) {
        phase = .deciding(request, nil)
        read(false)
        guard listener.keys.isLimited(network) else { return examine(request) }
        // The check of the key waits. If keys are guessed from a network, all of its clients must wait, even clients
        // with the right key. The wait limits how many keys can be tried.
        deadline?.cancel()
        deadline = schedule(after: listener.limits.guessWait) { $0.examine(request) }
    }

    private func examine(_ request: RTMPStreamRequest) {
        guard case .deciding = phase else { return }
        guard let endpoint = listener.endpoint(for: request) else {
            listener.recordWrongKey(from: network)
            return refuse(.denied, "it is not known here")
        }
        listener.note(id, isWaiting: false)
        guard let authorization = endpoint.authorization, let loop = context?.eventLoop else {
            return accept(request, endpoint)
        }
        deadline?.cancel()
        deadline = schedule(after: listener.limits.authorizationTime) { handler in
            handler.refuse(.failed, "the decision did not come in time")
        }
        let bound = NIOLoopBound(self, eventLoop: loop)
        listener.decide { loop.execute { bound.value.ask(authorization, request, endpoint) } }
    }

    /// Starts the authorization of this connection's request, if the request is still pending.
    private func ask(
        _ authorization: @escaping RTMPAuthorization, _ request: RTMPStreamRequest, _ endpoint: RTMPEndpoint
    ) {
        guard case .deciding = phase, let loop = context?.eventLoop else { return listener.decided() }
        let bound = NIOLoopBound(self, eventLoop: loop)
        // The task that decides is cancelled when the connection ends, and at the deadline.
        let task = Task { [address] in
            let isAllowed = await authorization(request, address)
            loop.execute { bound.value.decided(request, endpoint, isAllowed) }
        }
        phase = .deciding(request, task)
    }

    private func decided(_ request: RTMPStreamRequest, _ endpoint: RTMPEndpoint, _ isAllowed: Bool) {
        listener.decided()
        guard case .deciding = phase else { return }
        if isAllowed { accept(request, endpoint) } else { refuse(.denied, "it is not allowed") }
    }

    private func refuse(_ refusal: RTMPServerSession.Refusal, _ reason: String) {
        guard case .deciding(let request, _) = phase else { return }
        session.refuse(refusal)
        send()
        leave(because: "its wish to \(request.action.rawValue) was refused: \(reason)", .refused)
    }

    private func accept(_ request: RTMPStreamRequest, _ endpoint: RTMPEndpoint) {
        switch endpoint.purpose {
        case .receive(let receiver): publish(request, endpoint, receiver)
        case .offer(let host): play(request, endpoint, host)
        }
    }

    private func publish(_ request: RTMPStreamRequest, _ endpoint: RTMPEndpoint, _ receiver: any RTMPStreamReceiver) {
        guard let loop = context?.eventLoop else { return }
        let bound = NIOLoopBound(self, eventLoop: loop)
        let publication = RTMPPublication(request: request, address: address) { publication, control in
            if loop.inEventLoop { return bound.value.obey(control, of: publication) }
            loop.execute { bound.value.obey(control, of: publication) }
        }
        if let other = endpoint.publication {
            guard endpoint.url.takesOver || other.isSilent(for: listener.limits.takeoverSilence) else {
                return refuse(.busy, "another client publishes the stream")
            }
            other.yield()
        }
        guard endpoint.begin(publication) else { return refuse(.denied, "it is not known here") }
        session.accept()
        phase = .publishing(publication, endpoint)
        send()
        watch()
        read(true)
        receiver.publicationBegan(publication)
        takeLater()
    }

    /// Processes the held bytes, after the caller has returned.
    private func takeLater() {
        guard let loop = context?.eventLoop, held.readableBytes > 0 else { return }
        let bound = NIOLoopBound(self, eventLoop: loop)
        loop.execute { bound.value.take() }
    }

    /// Carries out `control`, unless `publication` has ended: `control` must not affect a later publication on the same
    /// connection.
    private func obey(_ control: RTMPPublication.Control, of publication: RTMPPublication) {
        guard case .publishing(let current, _) = phase, current === publication else { return }
        switch control {
        case .read(let isWanted):
            isPaused = !isWanted
            read(isWanted)
            lastReceived = .now()
            if isWanted { takeLater() }
        case .end(let reason):
            end(reason)
            leave(because: "\(reason)", .replaced, at: .zero)
        }
    }
}

extension RTMPServerHandler {
    private func play(_ request: RTMPStreamRequest, _ endpoint: RTMPEndpoint, _ host: any RTMPPlayerHost) {
        guard endpoint.enter() else { return refuse(.full, "there are as many players as may be") }
        guard let context else { return endpoint.leave() }
        phase = .joining
        session.accept()
        let bytes = session.takeAnswers()
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        // A player that does not even read the first answer is disconnected after the time limit for a request.
        expect("room for the first answer", within: listener.limits.requestTime)
        let (channel, isSecure) = (context.channel, listener.isSecure)
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: bytes))).flatMap {
            // The player's socket is a duplicate of the descriptor or, with TLS, our end of the socket pair to the TLS
            // session.
            if isSecure { return TLSTunnel.socket(of: channel) }
            return channel.eventLoop.makeCompletedFuture(Result { try TCPSocket(copyOf: channel) })
        }.whenComplete { result in
            bound.value.join(result, request, endpoint, host)
        }
    }

    private func join(
        _ result: Result<TCPSocket, any Error>, _ request: RTMPStreamRequest, _ endpoint: RTMPEndpoint,
        _ host: any RTMPPlayerHost
    ) {
        guard case .joining = phase, let context, case .success(let socket) = result else {
            endpoint.leave()
            return leave(because: "its connection failed as it joined", .late, at: .zero)
        }
        let player = RTMPPlayer(
            request: request, address: address, socket: socket,
            handover: session.handOver(unread: Array(held.readableBytesView)), release: { endpoint.leave() })
        phase = .closed
        deadline?.cancel()
        if listener.isSecure {
            listener.forget(id)
            let channel = context.channel
            context.pipeline.syncOperations.removeHandler(self, promise: nil)
            try? channel.syncOptions?.setOption(.autoRead, value: true)
        } else {
            // The player's socket has a descriptor of its own. So this closes only the channel's descriptor, and the
            // connection stays open.
            context.close(promise: nil)
        }
        host.joined(player)
    }
}
