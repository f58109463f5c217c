// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Networking

@Suite struct UDPURLTests {
    @Test("The options of a UDP multicast address are parsed")
    func group() throws {
        let url = try UDPURL(
            "udp://239.1.1.1:5000?ttl=4&pkt_size=1128&localaddr=192.0.2.1&dscp=34&buffer_size=400000")
        #expect(url.host == "239.1.1.1" && url.port == 5000)
        #expect(url.timeToLive == 4)
        #expect(url.datagramBytes == 1128)
        #expect(url.localAddress == "192.0.2.1")
        #expect(url.trafficClass == 136)
        #expect(url.bufferBytes == 400_000)
        #expect("\(url)" == "udp://239.1.1.1:5000?localaddr=192.0.2.1")
    }

    @Test("Without options a UDP datagram has seven TS packets, and the system chooses all other settings")
    func plain() throws {
        let url = try UDPURL("UDP://[ff15::1]:5000")
        #expect(url.host == "ff15::1" && url.datagramBytes == 1316)
        #expect(url.timeToLive == nil && url.trafficClass == nil && url.localAddress == nil)
        #expect("\(url)" == "udp://[ff15::1]:5000")
        #expect(try UDPURL("udp://h:1?tos=184").trafficClass == 184)
    }

    @Test(
        "An invalid UDP address is refused in one sentence",
        arguments: [
            ("udp://h", "no port"), ("udp://:5000", "no host"), ("udp://h:70000", "bad port"), ("h:5000", "no scheme"),
            ("udp://h:5000/x", "no user and no path"), ("udp://bob@h:5000", "no user and no path"),
            ("rtmp://h:5000", "udp://"), ("udp://h:5000?pkt_size=1300", "multiple of 188"),
            ("udp://h:5000?pkt_size=0", "188 to 65424"), ("udp://h:5000?pkt_size=65612", "188 to 65424"),
            ("udp://h:5000?ttl=256", "0 to 255"), ("udp://h:5000?ttl=", "0 to 255"), ("udp://h:5000?ttl", "0 to 255"),
            ("udp://h:5000?dscp=64", "0 to 63"), ("udp://h:5000?tos=-1", "0 to 255"),
            ("udp://h:5000?dscp=1&tos=4", "given twice"), ("udp://h:5000?ttl=1&ttl=2", "given twice"),
            ("udp://h:5000?localaddr=", "IP address"), ("udp://h:5000?ttl=1&fifo_size=1", "Option number 2"),
            ("udp://h:5000?=", "Option number 1"), ("udp://127.0.0.1:5000?ttl=0", "group"),
            ("udp://h:5000?buffer_size=99999999999", "1316 to"),
        ])
    func refuses(text: String, part: String) {
        let error = #expect(throws: AddressError.self) { try UDPURL(text) }
        #expect(error?.description.contains(part) == true, "\(error?.description ?? "")")
    }

    @Test("An unknown UDP option of any length is refused in one short sentence that does not repeat it")
    func hostile() {
        let name = String(repeating: "x", count: 1 << 20)
        let error = #expect(throws: AddressError.self) { try UDPURL("udp://h:5000?\(name)=1") }
        #expect((error?.description.count ?? .max) < 200)
        #expect(error?.description.contains("xx") == false)
    }

    @Test("The address of a UDP multicast group may have a time to live of 0")
    func ownMachine() throws {
        #expect(try UDPURL("udp://239.1.1.1:5000?ttl=0").timeToLive == 0)
        #expect(try UDPURL("udp://[ff02::1]:5000?ttl=0").timeToLive == 0)
    }

    @Test("A network interface is found by its IP address")
    func interface() {
        #expect(HostAddress(literal: "::1", port: 0)?.interfaceIndex == 1)
        #expect(HostAddress(literal: "2001:db8::1", port: 0)?.interfaceIndex == nil)
    }
}
