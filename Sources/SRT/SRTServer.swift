// SPDX-License-Identifier: Apache-2.0

internal import Media
internal import Networking
internal import Synchronization

/// Receives streams from senders that call: one listener for each address and port, shared by all inputs that name it and
/// open as long as one of them does. All calls may come from any thread.
package final class SRTServer: Sendable {
    /// The server that all inputs share: libsrt has one set of ports for the process.
    package static let shared = SRTServer()

    private struct Place: Hashable {
        let host: String
        let port: UInt16
    }

    /// Receives a stream as long as it is held, or until it is cancelled.
    final class Registration: Sendable {
        let reception: SRTReception
        private let listener: SRTListener
        private let end: @Sendable () -> Void

        init(_ reception: SRTReception, _ listener: SRTListener, end: @escaping @Sendable () -> Void) {
            self.reception = reception
            self.listener = listener
            self.end = end
        }

        deinit { end() }

        /// Callers that the port sent away.
        var rejections: UInt64 { listener.rejections }

        /// From now on no client may send the stream. A second call does nothing.
        func cancel() { end() }
    }

    private let clock: any MonotonicClock
    private let listeners = Mutex<[Place: SRTListener]>([:])
    /// Held while a port is opened, which may wait for another that is being closed.
    private let opening = Mutex<Void>(())

    /// A server that listens nowhere yet.
    init(clock: any MonotonicClock = SystemClock()) { self.clock = clock }

    /// Receives the stream at `url`, an input that listens, whose host is `address`. `notice` is told what an operator
    /// should know of the port, on any thread, if the port was not open before. Throws if it cannot be opened, or if the
    /// stream is received already.
    func receive(
        _ url: SRTURL, at address: HostAddress, notice: @escaping @Sendable (String) -> Void
    ) throws(OutputFailure) -> Registration {
        let place = Place(host: address.description, port: url.port)
        let reception = SRTReception(url)
        let registration = { (listener: SRTListener) in
            Registration(reception, listener) { self.remove(reception, from: listener, at: place) }
        }
        if let listener = try join(reception, at: place) { return registration(listener) }
        let result = opening.withLock { _ -> Result<SRTListener, OutputFailure> in
            do throws(OutputFailure) {
                // It may have been opened while this waited.
                if let listener = try join(reception, at: place) { return .success(listener) }
                let listener = SRTListener(like: url, clock: clock, notice: notice)
                try listener.add(reception)
                try listener.open(url, at: address)
                listeners.withLock { $0[place] = listener }
                return .success(listener)
            } catch {
                return .failure(error)
            }
        }
        return registration(try result.get())
    }

    /// The listener at `place`, which receives `reception` from now on; nil if the port is not open.
    private func join(_ reception: SRTReception, at place: Place) throws(OutputFailure) -> SRTListener? {
        let result = listeners.withLock { listeners -> Result<SRTListener?, OutputFailure> in
            guard let listener = listeners[place] else { return .success(nil) }
            return Result { () throws(OutputFailure) in
                try listener.add(reception)
                return listener
            }
        }
        return try result.get()
    }

    private func remove(_ reception: SRTReception, from listener: SRTListener, at place: Place) {
        reception.cancel()
        listeners.withLock { listeners in
            guard listener.remove(reception) else { return }
            listeners[place] = nil
            listener.close()
        }
    }

    static func failure(_ reason: String) -> OutputFailure {
        OutputFailure(.refused, step: "listening", reason: reason)
    }
}
