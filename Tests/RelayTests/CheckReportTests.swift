// SPDX-License-Identifier: Apache-2.0

import Channel
import Control
import TestSupport
import Testing

@testable import Relay

@Suite("The report of relay check")
struct CheckReportTests {
    @Test("relay check reports the HTTP server's address and socket before the channels")
    func http() throws {
        let (other, directory) = (try LoopbackServer { _ in }, try TemporaryDirectory())
        var http = ControlSettings()
        http.address = ControlSettings.Address(host: "127.0.0.1", port: Int(other.port))
        http.socket = directory.path("missing/relay.sock")
        // Without an encoder and without outputs, only the input of the channel is checked.
        var channel = ChannelConfiguration()
        channel.copying = .all
        let report = CheckReport(of: HostConfiguration(channel, http: http))
        #expect(report.rows.map(\.subject) == ["http", "http", "input"])
        #expect(report.rows.map(\.channel) == ["-", "-", "relay"])
        // Another relay may use the port. The directory of the socket is missing.
        #expect(report.rows.map(\.result) == [.warning, .failed, .ok])
        #expect(!report.isGood && report.text.contains("127.0.0.1:\(other.port)"))
        withExtendedLifetime(other) {}
    }
}
