// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import Relay

@Suite("Messages to the service manager")
struct ServiceNotifierTests {
    @Test("Each message to systemd is one datagram in the form of sd_notify(3)", arguments: [true, false])
    func words(isAbstract: Bool) throws {
        let directory = try TemporaryDirectory()
        let name = isAbstract ? "@relay-test\(directory.path.replacing("/", with: "-"))" : directory.path("notify")
        let socket = try NotifySocket(name)
        let notifier = try #require(ServiceNotifier(environment: ["NOTIFY_SOCKET": name]))
        #expect(notifier.send(.ready, .status("two\nlines")))
        #expect(notifier.send(.reloading(12_345_678_999)))
        #expect(notifier.send(.watchdog) && notifier.send(.stopping))
        #expect(
            socket.receive() == [
                "READY=1\nSTATUS=two lines", "RELOADING=1\nMONOTONIC_USEC=12345678", "WATCHDOG=1", "STOPPING=1",
            ])
    }

    @Test("No message is sent if relay does not run under systemd, or if systemd's address is invalid")
    func nobody() {
        #expect(ServiceNotifier(environment: [:]) == nil)
        for name in ["", "/", "@", "relative", "vsock:2:1234", "/" + String(repeating: "x", count: 108)] {
            #expect(ServiceNotifier(environment: ["NOTIFY_SOCKET": name]) == nil, "\(name)")
        }
        #expect(ServiceNotifier(environment: ["NOTIFY_SOCKET": "/nobody/listens"])?.send(.ready) == false)
        #expect(ServiceNotifier(environment: ["NOTIFY_SOCKET": "/" + String(repeating: "x", count: 106)]) != nil)
    }

    @Test("relay does not block if systemd does not read its messages")
    func full() throws {
        let directory = try TemporaryDirectory()
        let socket = try NotifySocket(directory.path("notify"))
        let notifier = try #require(ServiceNotifier(environment: ["NOTIFY_SOCKET": socket.name]))
        var sent = 0
        while sent < 100_000, notifier.send(.watchdog) { sent += 1 }
        #expect(sent < 100_000 && socket.receive().count == sent)
        #expect(notifier.send(.watchdog))
    }

    @Test("The watchdog interval in the environment applies only if it is meant for this process")
    func watchdog() {
        func time(_ more: [String: String]) -> Duration? {
            ServiceNotifier(environment: ["NOTIFY_SOCKET": "@x"].merging(more) { $1 }, pid: 42)?.watchdog
        }
        #expect(time([:]) == nil)
        #expect(time(["WATCHDOG_USEC": "30000000"]) == .seconds(30))
        #expect(time(["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "42"]) == .seconds(30))
        #expect(time(["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "43"]) == nil)
        for wrong in ["0", "-5", "much"] { #expect(time(["WATCHDOG_USEC": wrong]) == nil) }
    }
}
