// SPDX-License-Identifier: Apache-2.0

import Media
import TestSupport
import Testing

@testable import Networking

@Suite("Limit of wrong guesses")
struct GuessLimitTests {
    private let network = ClientNetwork("192.0.2.1")

    @Test("The eleventh wrong guess from a network within ten seconds exceeds the limit; then the count begins again")
    func window() {
        var limit = GuessLimit()
        let results = (Int64(0)..<12).map { limit.record(from: network, at: .zero + .milliseconds($0 * 500)) }
        #expect(results == Array(repeating: false, count: 10) + [true, true])
        #expect(limit.isReached(by: network, at: .zero + .seconds(10) - .nanoseconds(1)))
        #expect(!limit.isReached(by: network, at: .zero + .seconds(10)))
        #expect(!limit.isReached(by: ClientNetwork("192.0.2.2"), at: .zero + .seconds(9)))
        #expect(limit.record(from: network, at: .zero + .seconds(10)) == false)
    }

    @Test("Below the limit every guess is admitted, and above the limit one guess per half second")
    func pace() {
        var limit = GuessLimit()
        for _ in 0..<10 {
            #expect(limit.admits(network, at: 0) == true)
            _ = limit.record(from: network, at: 0)
        }
        let admitted = (Int64(0)..<20).filter { limit.admits(network, at: .zero + .milliseconds($0 * 100)) }
        #expect(admitted == [0, 5, 10, 15])
        #expect(limit.admits(ClientNetwork("192.0.2.2"), at: .zero + .seconds(1)) == true)
    }

    @Test("Guesses from thousands of networks do not exceed the limit of any other network")
    func manyNetworks() {
        var limit = GuessLimit()
        for index in 0..<5000 {
            let other = ClientNetwork("2001:db8:\(String(index, radix: 16))::1")
            for _ in 0..<3 { #expect(limit.record(from: other, at: 0) == false) }
        }
        #expect(!limit.isReached(by: network, at: 0))
        #expect(limit.admits(network, at: 0) == true)
        for _ in 0..<100 { #expect(limit.record(from: network, at: 0) == false) }
    }

    @Test("A flood of wrong stream keys is reported once a minute, with the number of keys")
    func reports() {
        let clock = ManualClock()
        let keys = StreamKeyGuard(clock: clock)
        let lines = (0..<500).compactMap { _ in keys.record(from: network) }
        #expect(
            lines == ["stream keys are being guessed: 11 wrong ones were shown, the last from 192.0.2.1"])
        clock.advance(by: .seconds(60))
        let later = (0..<500).compactMap { _ in keys.record(from: network) }
        #expect(
            later == ["stream keys are being guessed: 500 wrong ones were shown, the last from 192.0.2.1"])
        #expect(keys.wrongKeys == 1000 && keys.isLimited(network) && !keys.isLimited(ClientNetwork("192.0.2.2")))
    }

    @Test("A few wrong stream keys are counted, but not reported as guessing")
    func mistakes() {
        let clock = ManualClock()
        let keys = StreamKeyGuard(clock: clock)
        for _ in 0..<100 {
            #expect(keys.record(from: network) == nil && !keys.isLimited(network))
            clock.advance(by: .seconds(2))
        }
        #expect(keys.wrongKeys == 100)
    }
}

@Suite("IP addresses of clients")
struct ClientAddressTests {
    @Test("Clients with one IPv4 address or in one IPv6 /64 network share a limit, and other clients do not")
    func networks() {
        #expect(ClientNetwork("192.0.2.1") == ClientNetwork("::ffff:192.0.2.1"))
        #expect(ClientNetwork("192.0.2.1") != ClientNetwork("192.0.2.2"))
        #expect(ClientNetwork("2001:db8:1:2::1") == ClientNetwork("2001:db8:1:2:ffff:ffff:ffff:ffff"))
        #expect(ClientNetwork("2001:db8:1:2::1") != ClientNetwork("2001:db8:1:3::1"))
        #expect(ClientNetwork("fe80::1%eth0") == ClientNetwork("fe80::2"))
        #expect("\(ClientNetwork("192.0.2.1"))" == "192.0.2.1")
        #expect("\(ClientNetwork("2001:db8:1:2::1"))" == "2001:db8:1:2::/64")
        #expect(ClientNetwork("") == ClientNetwork(nil as IPAddress?))
    }

    @Test("An IP address range contains the addresses of its family that begin with its bits")
    func ranges() throws {
        for (range, address, isInside) in [
            ("10.0.0.0/8", "10.255.1.2", true), ("10.0.0.0/8", "11.0.0.0", false), ("192.0.2.1", "192.0.2.1", true),
            ("192.0.2.1", "192.0.2.2", false), ("0.0.0.0/0", "203.0.113.9", true), ("0.0.0.0/0", "::1", false),
            ("192.0.2.128/25", "192.0.2.129", true), ("192.0.2.128/25", "192.0.2.127", false),
            ("2001:db8::/33", "2001:db8:7fff::1", true), ("2001:db8::/33", "2001:db8:8000::1", false),
            ("127.0.0.1", "::ffff:127.0.0.1", true),
        ] {
            let address = try #require(IPAddress(address))
            #expect(AddressRange(range)?.contains(address) == isInside, "\(range) \(address)")
        }
        for text in ["", "localhost", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1", "10.0.0/8", "::/129", "10.0.0.0/8/8"] {
            #expect(AddressRange(text) == nil, "\(text)")
        }
    }
}
