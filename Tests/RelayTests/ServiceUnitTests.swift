// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Channel
import Foundation
import Testing

@testable import Relay

@Suite("Files that the package installs")
struct ServiceUnitTests {
    private static func path(_ name: String) -> String {
        URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent(name).path
    }

    @Test("The packaged configuration file is valid, and listens only on the loopback interface")
    func configuration() throws {
        let file = try HostConfiguration(reading: Self.path("Config/relay.yaml"))
        #expect(file.channels.map(\.name) == ["test"])
        let channel = try #require(file.channels.first?.configuration)
        #expect(channel.recording == nil && channel.outputs.count == 1)
        #expect("\(channel.outputs[0].address)".contains("127.0.0.1"))
    }

    @Test("The command in the systemd unit is valid, and so is its exit status for permanent errors")
    func unit() throws {
        let text = try String(contentsOfFile: Self.path("Config/systemd/relay.service"), encoding: .utf8)
        let lines = text.split(separator: "\n").map(String.init)
        let command = try #require(lines.first { $0.hasPrefix("ExecStart=/usr/bin/relay ") })
        let arguments = command.split(separator: " ").dropFirst().map(String.init)
        let run = try #require(try RelayCommand.parseAsRoot(arguments) as? RunCommand)
        #expect(run.operation.config == "/etc/relay/relay.yaml")
        #expect(lines.contains("RestartPreventExitStatus=\(Relay.ExitStatus.usage.rawValue)"))
        #expect(lines.contains("Type=notify"))
        let state = try #require(lines.first { $0.hasPrefix("StateDirectory=") }?.dropFirst("StateDirectory=".count))
        #expect(lines.contains("RequiresMountsFor=/var/lib/\(state)"))
        let watchdog = try #require(lines.first { $0.hasPrefix("WatchdogSec=") }?.dropFirst("WatchdogSec=".count))
        #expect(Int(watchdog) ?? 0 >= 20)
    }

    @Test("The systemd unit keeps relay running if a child runs out of memory, and writes no core file")
    func confinement() throws {
        let text = try String(contentsOfFile: Self.path("Config/systemd/relay.service"), encoding: .utf8)
        let lines = text.split(separator: "\n").map(String.init)
        #expect(lines.contains("OOMPolicy=continue"))
        #expect(lines.contains("LimitCORE=0"))
    }
}
