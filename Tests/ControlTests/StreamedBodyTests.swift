// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import HummingbirdCore
import Media
import NIOCore
import NIOEmbedded
import Synchronization
import TestSupport
import Testing

@testable import Control

@Suite("Streamed HTTP responses")
struct StreamedBodyTests {
    private final class Session: Sendable {
        let isOver = Mutex(false)
    }

    @Test("A streamed response ends with its client's session, before the next piece is written")
    func sessionEnd() async throws {
        let session = Session()
        var request = ControlRequest.sample()
        request.isStillAdmitted = { session.isOver.withLock { !$0 } }
        let body = StreamedBody.body(of: request) { write in
            for number in 0..<5 {
                if number == 2 { session.isOver.withLock { $0 = true } }
                try await write(ByteBuffer(bytes: [UInt8(number)]))
            }
        }
        let collected = CollectedBody()
        let refusal = await #expect(throws: Refusal.self) {
            try await body.write(CollectedBody.Writer(body: collected))
        }
        #expect(refusal?.kind == .unauthenticated)
        #expect(collected.bytes == [0, 1] && !collected.isFinished)
    }

    private final class Tally: Sendable {
        private let count = Mutex(0)
        var value: Int { count.withLock { $0 } }
        func add() { count.withLock { $0 += 1 } }
    }

    /// A writer for a client that reads nothing: each write waits until the connection is closed.
    private struct StuckWriter: ResponseBodyWriter {
        let channel: NIOAsyncTestingChannel
        let writes: Tally

        mutating func write(_ buffer: ByteBuffer) async throws {
            writes.add()
            try await channel.closeFuture.get()
            throw ChannelError.ioOnClosedChannel
        }

        consuming func finish(_ trailingHeaders: HTTPFields?) async throws {}
    }

    @Test("If a client reads nothing, only one piece of its stream is made, and it is disconnected after ten seconds")
    func unread() async throws {
        let channel = NIOAsyncTestingChannel(loop: NIOAsyncTestingEventLoop())
        let (pieces, writes, closed) = (Tally(), Tally(), Tally())
        channel.closeFuture.whenComplete { _ in closed.add() }
        let body = StreamedBody.body(of: ControlRequest.sample(on: channel)) { write in
            while true {
                pieces.add()
                try await write(ByteBuffer(repeating: 0, count: 1000))
            }
        }
        let writing = Task { try await body.write(StuckWriter(channel: channel, writes: writes)) }
        try await eventually { writes.value == 1 }
        await channel.testingEventLoop.advanceTime(by: .seconds(9))
        #expect(closed.value == 0)
        await channel.testingEventLoop.advanceTime(by: .seconds(1))
        await #expect(throws: ChannelError.self) { try await writing.value }
        #expect(closed.value == 1 && pieces.value == 1)
    }
}
