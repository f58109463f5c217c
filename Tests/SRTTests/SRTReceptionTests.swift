// SPDX-License-Identifier: Apache-2.0

import CSRT
import Media
import Networking
import TestSupport
import Testing

@testable import SRT

/// The stream of a shared port and its connections, with sockets that have no peer.
@Suite("Senders of an SRT stream")
struct SRTReceptionTests {
    private let clock = ManualClock(now: 5_000_000_000)
    private let url: SRTURL

    init() throws { url = try SRTURL("srt://:9000?streamid=a", for: .input) }

    private func connection() throws -> SRTConnection {
        SRTConnection(try SRTSocket(receiving: url), to: "192.0.2.1", clock: clock)
    }

    private let call = SRTCall(socket: SRT_INVALID_SOCK, address: nil, streamID: "a")

    @Test("A new sender is handed over once, and the sender before it is closed with a reason")
    func handedOver() throws {
        let reception = SRTReception(url)
        let (first, second) = (try connection(), try connection())
        #expect(reception.judge(call) == nil)
        #expect(reception.offer(first))
        #expect(reception.next(within: .zero) === first)
        #expect(reception.next(within: .zero) == nil)
        #expect(reception.offer(second))
        #expect(first.takeReason() == "another sender took it over" && first.takeReason() == nil)
        #expect(reception.next(within: .zero) === second && second.takeReason() == nil)
    }

    @Test("A stream that is cancelled closes its sender without a reason, and accepts no other one")
    func cancelled() throws {
        let reception = SRTReception(url)
        let sender = try connection()
        #expect(reception.offer(sender))
        reception.cancel()
        #expect(sender.isOver && sender.takeReason() == nil)
        #expect(reception.next(within: .zero) == nil)
        #expect(reception.judge(call) == .conflict)
        #expect(!reception.offer(try connection()))
    }

    @Test("A connection counts as silent if no data has arrived for the given time, counted from its beginning")
    func silence() throws {
        let sender = try connection()
        #expect(!sender.isSilent(for: .seconds(3)))
        clock.advance(by: .milliseconds(2999))
        #expect(!sender.isSilent(for: .seconds(3)))
        clock.advance(by: .milliseconds(1))
        #expect(sender.isSilent(for: .seconds(3)))
    }

    @Test("A closed connection delivers no data, has no current statistics, and keeps the first reason for its end")
    func closed() throws {
        let sender = try connection()
        sender.close(because: "first")
        sender.close(because: "second")
        let count = [UInt8](repeating: 0, count: 2000).withUnsafeBytes { bytes in
            sender.receive(into: UnsafeMutableRawBufferPointer(mutating: bytes))
        }
        #expect(count == nil && sender.isOver)
        #expect(sender.statistics.moment == nil)
        #expect(sender.takeReason() == "first")
    }

    @Test("Each total is the sum of one counter over all connections")
    func counters() {
        var (sum, other) = (SRTInputStatistics.Totals(), SRTInputStatistics.Totals())
        let counters: [WritableKeyPath<SRTInputStatistics.Totals, Int64>] = [
            \.packetsReceived, \.packetsUnique, \.packetsRetransmitted, \.packetsBelated, \.packetsLost,
            \.packetsDropped, \.packetsUndecrypted, \.bytesReceived,
        ]
        for (index, counter) in counters.enumerated() {
            sum[keyPath: counter] = 100 * Int64(index)
            other[keyPath: counter] = Int64(index) + 1
        }
        sum.add(other)
        #expect(counters.map { sum[keyPath: $0] } == (0..<8).map { 101 * $0 + 1 })
    }
}
