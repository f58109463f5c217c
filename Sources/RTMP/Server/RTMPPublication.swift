// SPDX-License-Identifier: Apache-2.0

internal import Media
internal import Synchronization

/// A stream that a client is publishing. All calls may come from any thread.
package final class RTMPPublication: Sendable {
    /// Why a publication is over.
    package enum End: Sendable, Equatable, CustomStringConvertible {
        /// The client said so.
        case unpublished
        /// The connection ended without a word.
        case disconnected
        /// The client broke the protocol, or the connection failed: one sentence.
        case failed(String)
        /// Nothing came for so many seconds.
        case silent(seconds: Int64)
        /// Another client publishes the stream now.
        case takenOver
        /// The stream is not wanted any more.
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

    /// What the client asked for.
    package let request: RTMPStreamRequest
    /// The client's IP address.
    package let address: String
    private let bytes = Atomic<UInt64>(0)
    /// When something came last; far ahead while nothing is read.
    private let lastReceived = Atomic<Int64>(SystemClock().now)
    /// Tells the connection, on its loop.
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

    /// Bytes received since the connection was made.
    package var receivedBytes: UInt64 { bytes.load(ordering: .relaxed) }

    /// Something came. What comes while nothing is read was on its way.
    func received(_ count: Int, isRead: Bool) {
        bytes.add(UInt64(count), ordering: .relaxed)
        if isRead { lastReceived.store(SystemClock().now, ordering: .relaxed) }
    }

    /// Whether the client sent nothing for `time`, though it was read from.
    func isSilent(for time: Duration) -> Bool {
        SystemClock().now - lastReceived.load(ordering: .relaxed) >= time.inNanoseconds
    }

    /// Ends the connection in favour of another client. On the loop; when it returns the receiver has been told.
    func yield() { control(self, .end(.takenOver)) }

    /// Reads nothing more from the client until ``resume()``; up to 64 KiB that were read wait meanwhile, and then the
    /// client. After a call from within ``RTMPStreamReceiver/publication(_:sent:)`` no message comes any more.
    package func pause() {
        lastReceived.store(.max, ordering: .relaxed)
        control(self, .read(false))
    }

    /// Reads on.
    package func resume() {
        lastReceived.store(SystemClock().now, ordering: .relaxed)
        control(self, .read(true))
    }

    /// Ends the connection.
    package func cancel() { control(self, .end(.cancelled)) }
}

/// Receives a published stream. All calls come on the server's loop, in this order, and must not block:
/// `began`, any number of `sent`, `ended`. After a takeover the next `began` follows the `ended` of the one before.
package protocol RTMPStreamReceiver: AnyObject, Sendable {
    /// A client was accepted. The first message follows.
    func publicationBegan(_ publication: RTMPPublication)
    /// The client sent a message.
    func publication(_ publication: RTMPPublication, sent message: RTMPPublishedMessage)
    /// Nothing follows of this publication.
    func publication(_ publication: RTMPPublication, ended end: RTMPPublication.End)
}
