// SPDX-License-Identifier: Apache-2.0

internal import Media
internal import Synchronization

/// A stream that a client publishes. Can be used on any thread.
package final class RTMPPublication: Sendable {
    /// Why a publication ended.
    package enum End: Sendable, Equatable, CustomStringConvertible {
        /// The client ended the stream by a command.
        case unpublished
        /// The connection ended without a command.
        case disconnected
        /// The client violated the protocol or did not read what the server sent, or the connection failed; the value
        /// is the reason.
        case failed(String)
        /// The client sent nothing for this many seconds.
        case silent(seconds: Int64)
        /// Another client publishes the stream now.
        case takenOver
        /// The server no longer receives the stream, or ``cancel()`` was called.
        case cancelled

        package var description: String {
            switch self {
            case .unpublished: "the client ended it"
            case .disconnected: "the client closed the connection"
            case .failed(let reason): reason
            case .silent(let seconds): "nothing came for \(seconds) s"
            case .takenOver: "another client took it over"
            case .cancelled: "it is not wanted any more"
            }
        }
    }

    /// The client's request.
    package let request: RTMPStreamRequest
    /// The client's IP address.
    package let address: String
    private let bytes = Atomic<UInt64>(0)
    /// When data last arrived, on `SystemClock`, in nanoseconds. While reading is paused, it is a time in the far
    /// future, so that the client does not count as silent.
    private let lastReceived = Atomic<Int64>(SystemClock().now.nanoseconds)
    /// Controls the connection, on the connection's event loop.
    private let control: @Sendable (RTMPPublication, Control) -> Void

    enum Control: Sendable {
        case read(Bool)
        case end(End)
    }

    init(request: RTMPStreamRequest, address: String, control: @escaping @Sendable (RTMPPublication, Control) -> Void) {
        self.request = request
        self.address = address
        self.control = control
    }

    /// Number of bytes received on the connection since the request to publish was accepted.
    package var receivedBytes: UInt64 { bytes.load(ordering: .relaxed) }

    /// Records received bytes. Bytes that arrive while reading is paused do not show that the client is alive.
    func received(_ count: Int, isRead: Bool) {
        bytes.add(UInt64(count), ordering: .relaxed)
        if isRead { lastReceived.store(SystemClock().now.nanoseconds, ordering: .relaxed) }
    }

    /// Whether the client sent nothing for `time` although the server was reading.
    func isSilent(for time: Duration) -> Bool {
        SystemClock().now - MonotonicInstant(nanoseconds: lastReceived.load(ordering: .relaxed)) >= time
    }

    /// Ends the connection in favor of another client. Runs on the event loop. When this method returns, the receiver
    /// of the stream knows that the publication has ended.
    func yield() { control(self, .end(.takenOver)) }

    /// Stops reading from the client until ``resume()``. Up to 64 KiB that were already read are kept here, and further
    /// data stays with the client. If this method is called within ``RTMPStreamReceiver/publication(_:sent:)``, no
    /// further message is delivered.
    package func pause() {
        lastReceived.store(MonotonicInstant.distantFuture.nanoseconds, ordering: .relaxed)
        control(self, .read(false))
    }

    /// Continues reading from the client, after ``pause()``.
    package func resume() {
        lastReceived.store(SystemClock().now.nanoseconds, ordering: .relaxed)
        control(self, .read(true))
    }

    /// Ends the connection of the client that publishes.
    package func cancel() { control(self, .end(.cancelled)) }
}

/// Receives a published stream. All calls are made on the server's event loop and must not block. Their order is:
/// `began`, any number of `sent`, `ended`. After a takeover, the next `began` comes after the `ended` of the previous
/// publication.
package protocol RTMPStreamReceiver: AnyObject, Sendable {
    /// A client was accepted. Its first message follows.
    func publicationBegan(_ publication: RTMPPublication)
    /// The client sent a message.
    func publication(_ publication: RTMPPublication, sent message: RTMPPublishedMessage)
    /// The publication ended; nothing follows.
    func publication(_ publication: RTMPPublication, ended end: RTMPPublication.End)
}
