// SPDX-License-Identifier: Apache-2.0

import Glibc
import NIOCore
import NIOEmbedded
import Synchronization
import TestSupport
import Testing

@testable import Networking

@Suite("Descriptors that are kept free for media")
struct DescriptorReserveTests {
    /// The number of free descriptors, as the test sets it.
    private final class Free: Sendable {
        let count: Mutex<Int?>
        init(_ count: Int?) { self.count = Mutex(count) }
    }

    /// A handler between the gate and the socket, which counts the gate's requests to accept connections.
    private final class Accepts: ChannelOutboundHandler {
        typealias OutboundIn = NIOAny
        var count = 0
        func read(context: ChannelHandlerContext) { count += 1 }
    }

    private let clock = ManualClock()
    private let warnings = Free(0)

    private func reserve(_ free: Free, outputs: Int = 2, needed: Int = 140, limit: Int = 1024) -> DescriptorReserve {
        let reserve = DescriptorReserve(clock: clock) { free.count.withLock { $0 } }
        reserve.keep(forOutputs: outputs, needing: needed, of: limit)
        return reserve
    }

    @Test("A server pauses while few descriptors are free, checks again each second, and warns once")
    func pauses() throws {
        let free = Free(80)
        let reserve = reserve(free)
        let (channel, accepts) = (EmbeddedChannel(), Accepts())
        let gate = DescriptorGate(reserve) { [warnings] _ in warnings.count.withLock { $0 = ($0 ?? 0) + 1 } }
        try channel.pipeline.syncOperations.addHandlers([accepts, gate])
        channel.read()
        #expect(accepts.count == 0 && reserve.pauses == 1)
        for _ in 0..<3 {
            channel.read()
            clock.advance(by: .seconds(1))
            channel.embeddedEventLoop.advanceTime(by: .seconds(1))
        }
        #expect(accepts.count == 0 && reserve.pauses == 1 && warnings.count.withLock { $0 } == 1)
        free.count.withLock { $0 = 81 }
        clock.advance(by: .seconds(1))
        channel.embeddedEventLoop.advanceTime(by: .seconds(1))
        #expect(accepts.count == 1)
        channel.read()
        #expect(accepts.count == 2)
        _ = try channel.finish(acceptAlreadyClosed: true)
    }

    @Test("Connections accepted since the last count of descriptors are subtracted from the free descriptors")
    func flood() {
        let reserve = reserve(Free(100))
        var accepted = 0
        while reserve.admits(), accepted < 1000 {
            reserve.accepted()
            accepted += 1
        }
        #expect(accepted == 20)
        clock.advance(by: .seconds(1))
        #expect(reserve.admits(), "they are counted again each second")
    }

    @Test("For outputs beyond the configured number, descriptors are also kept free until these outputs have ended")
    func added() {
        let free = Free(0)
        let reserve = reserve(free, outputs: 2)
        func kept() -> Int {
            clock.advance(by: .seconds(1))
            return (0..<1000).first { count in
                free.count.withLock { $0 = count }
                clock.advance(by: .seconds(1))
                return reserve.admits()
            }.map { $0 - 1 } ?? 1000
        }
        #expect(kept() == 64 + 2 * 8)
        var registrations: [any Sendable] = (0..<2).map { _ in reserve.count(5) }
        #expect(kept() == 64 + 2 * 8, "they are those of the configuration")
        registrations.append(reserve.count(5))
        #expect(kept() == 64 + 3 * 8)
        registrations.removeLast(2)
        #expect(kept() == 64 + 2 * 8)
        // 128 for the process and 800 for the outputs leave 96 of 1024.
        registrations.append(reserve.count(795))
        #expect(kept() == 48)
        registrations = []
        #expect(kept() == 64 + 2 * 8)
    }

    @Test("Connections are accepted before the outputs are known, and if the free descriptors cannot be counted")
    func bounds() {
        #expect(reserve(Free(nil)).admits())
        #expect(DescriptorReserve(clock: clock) { 1 }.admits())
    }

    @Test("With a low limit, connections are still accepted when all outputs are on air", arguments: [1024, 700, 640])
    func lowLimit(limit: Int) {
        // 100 outputs by RTMPS, with five descriptors each.
        let needed = DescriptorLimit.needed(500)
        let left = limit - needed
        #expect(DescriptorLimit.shortage(descriptors: 500, limit: limit) == nil)
        #expect(reserve(Free(left), outputs: 100, needed: needed, limit: limit).admits())
        #expect(!reserve(Free(left / 2), outputs: 100, needed: needed, limit: limit).admits())
        #expect(reserve(Free(1), outputs: 100, needed: needed, limit: needed).admits())
    }

    @Test("The number of free descriptors decreases when the process opens descriptors")
    func measure() throws {
        let before = try #require(DescriptorLimit.free)
        let pipes = (0..<150).map { _ -> [CInt] in
            var ends: [CInt] = [0, 0]
            return pipe(&ends) == 0 ? ends : []
        }
        let during = try #require(DescriptorLimit.free)
        for end in pipes.flatMap(\.self) { close(end) }
        // Other tests open and close descriptors meanwhile.
        #expect(before - during > 100)
    }
}
