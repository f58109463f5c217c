// SPDX-License-Identifier: Apache-2.0

internal import Media
package import Networking
internal import Synchronization

/// Receives streams from senders that connect to relay. Inputs with the same address and port share one listener. Its
/// port is open as long as one of these inputs needs it. May be used on any thread.
package final class SRTServer: Sendable {
    /// The server that all inputs of the process use, because libsrt shares its ports within a process.
    package static let shared = SRTServer()

    private struct Place: Hashable {
        let host: String
        let port: UInt16
    }

    /// A stream that the server receives. The reception ends when this object is released or cancelled.
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

        /// The number of callers that the port has rejected.
        var rejections: UInt64 { listener.rejections }

        /// Accepts no sender for the stream from now on, and closes the connection of the current one. A second call
        /// does nothing.
        func cancel() { end() }
    }

    private let clock: any MonotonicClock
    /// Counts the wrong stream IDs and passphrases, and limits guesses. Listening outputs use it, too.
    package let keys: StreamKeyGuard
    private let listeners = Mutex<[Place: SRTListener]>([:])
    /// Locked while a port is being opened. Opening may have to wait until the same port is closed.
    private let opening = Mutex<Void>(())

    /// Creates a server without listeners.
    init(clock: any MonotonicClock = SystemClock()) {
        self.clock = clock
        keys = StreamKeyGuard(clock: clock)
    }

    /// The number of callers that requested a stream ID which no input has, or that had a wrong passphrase. On
    /// ``shared`` it includes callers of listening outputs that did so.
    package var wrongKeys: UInt64 { keys.wrongKeys }

    /// Starts to receive the stream of the listening input at `url`. `address` is the local address that the host in
    /// `url` stands for. If this opens the port, `notice` is called with messages about the port for an operator, on
    /// any thread. Throws if the port cannot be opened, if its other inputs have other shared options, or if the server
    /// already receives this stream.
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
                // Another thread may have opened the port meanwhile.
                if let listener = try join(reception, at: place) { return .success(listener) }
                let listener = SRTListener(like: url, keys: keys, clock: clock, notice: notice)
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

    /// Adds `reception` to the listener at `place`. Returns nil if there is no listener at that address and port.
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
