// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOEmbedded
import Synchronization
import Testing

@testable import Networking

@Suite("Forwarding between two channels")
struct GlueHandlerTests {
    /// Records what a handler asks of its channel.
    private final class Recorder: ChannelOutboundHandler {
        typealias OutboundIn = ByteBuffer

        var reads = 0
        var closes: [CloseMode] = []

        func read(context: ChannelHandlerContext) {
            reads += 1
            context.read()
        }

        func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
            closes.append(mode)
            promise?.succeed()
        }
    }

    private final class Tally: Sendable {
        let bytes = Atomic(0)
        let highest = Atomic(0)

        func count(_ bytes: Int) {
            let sum = self.bytes.wrappingAdd(bytes, ordering: .relaxed).newValue
            _ = highest.max(sum, ordering: .relaxed)
        }
    }

    private struct End {
        let channel: EmbeddedChannel
        let recorder = Recorder()

        init(_ glue: GlueHandler, loop: EmbeddedEventLoop) throws {
            channel = EmbeddedChannel(loop: loop)
            try channel.pipeline.syncOperations.addHandlers([recorder, glue])
            try channel.connect(to: SocketAddress(unixDomainSocketPath: "/x")).wait()
        }
    }

    private let loop = EmbeddedEventLoop()
    private let tally = Tally()

    private func pair() throws -> (near: End, far: End) {
        let (first, second) = (GlueHandler(count: { [tally] in tally.count($0) }), GlueHandler())
        GlueHandler.connect(first, second)
        return (try End(first, loop: loop), try End(second, loop: loop))
    }

    @Test("What one channel receives, the other one sends, and the bytes are counted until they are sent")
    func forwards() throws {
        let (near, far) = try pair()
        try near.channel.writeInbound(ByteBuffer(string: "hello"))
        #expect(try far.channel.readOutbound(as: ByteBuffer.self) == ByteBuffer(string: "hello"))
        try far.channel.writeInbound(ByteBuffer(string: "answer"))
        #expect(try near.channel.readOutbound(as: ByteBuffer.self) == ByteBuffer(string: "answer"))
        #expect(tally.highest.load(ordering: .relaxed) == 5)
        #expect(tally.bytes.load(ordering: .relaxed) == 0)
    }

    @Test("A channel is read only while the other one can take more, and is read again when it can")
    func backpressure() throws {
        let (near, far) = try pair()
        let before = near.recorder.reads
        far.channel.isWritable = false
        near.channel.read()
        near.channel.read()
        #expect(near.recorder.reads == before)
        far.channel.isWritable = true
        far.channel.pipeline.fireChannelWritabilityChanged()
        #expect(near.recorder.reads == before + 1)
        // Nothing is held back any more.
        far.channel.pipeline.fireChannelWritabilityChanged()
        #expect(near.recorder.reads == before + 1)
        near.channel.read()
        #expect(near.recorder.reads == before + 2)
    }

    @Test("After the last byte of one channel, the other one can still answer; when one ends, so does the other")
    func ends() throws {
        let (near, far) = try pair()
        near.channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        #expect(far.recorder.closes == [.output] && near.recorder.closes.isEmpty)
        try far.channel.writeInbound(ByteBuffer(string: "late"))
        #expect(try near.channel.readOutbound(as: ByteBuffer.self) == ByteBuffer(string: "late"))
        near.channel.pipeline.fireChannelInactive()
        #expect(far.recorder.closes == [.output, .all])
        // Data that arrives now is discarded, and is not counted as waiting.
        try near.channel.writeInbound(ByteBuffer(string: "lost"))
        #expect(try far.channel.readOutbound(as: ByteBuffer.self) == nil)
        #expect(tally.bytes.load(ordering: .relaxed) == 0)
    }
}
