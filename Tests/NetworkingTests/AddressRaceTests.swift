// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import Networking

@Suite struct AddressRaceTests {
    private func addresses(_ texts: [String]) -> [HostAddress] {
        texts.compactMap { HostAddress(literal: $0, port: 1935) }
    }

    @Test(
        "IPv4 and IPv6 addresses are tried alternately, beginning with the family that the system prefers",
        arguments: [
            (
                ["::1", "::2", "192.0.2.1", "192.0.2.2", "192.0.2.3"],
                ["::1", "192.0.2.1", "::2", "192.0.2.2", "192.0.2.3"]
            ),
            (["192.0.2.1", "::1", "::2"], ["192.0.2.1", "::1", "::2"]),
            (["192.0.2.1"], ["192.0.2.1"]),
            ([], []),
        ])
    func order(found: [String], tried: [String]) {
        #expect(AddressRace.interleaved(addresses(found)).map(\.description) == tried)
    }

    @Test("The connection attempt to one address runs alone for 250 ms before the next address is tried")
    func stagger() {
        var race = AddressRace(count: 3, at: 1000)
        #expect(race.next(at: 1000) == 0)
        #expect(race.next(at: 1000) == nil)
        #expect(race.nextStart == 250_001_000)
        #expect(race.next(at: 250_000_999) == nil)
        #expect(race.next(at: 250_001_000) == 1)
        #expect(race.next(at: 300_000_000) == nil)
        #expect(race.next(at: 500_001_000) == 2)
        #expect(race.nextStart == nil)
        #expect(race.next(at: 900_000_000) == nil)
    }

    @Test("If the connection attempt to one address fails, the next address is tried at once")
    func failure() {
        var race = AddressRace(count: 2, at: 0)
        #expect(race.next(at: 0) == 0)
        race.failed(at: 10)
        #expect(race.nextStart == 10)
        #expect(race.next(at: 10) == 1)
        race.failed(at: 20)
        #expect(race.next(at: 20) == nil)
    }
}
