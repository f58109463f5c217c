// SPDX-License-Identifier: Apache-2.0

import Foundation
import Media
import Synchronization
import Testing

@testable import Channel
@testable import RTMP

@Suite("Commands that accept or refuse RTMP clients")
struct ClientCommandTests {
    private final class Notices: Sendable {
        private let all = Mutex<[String]>([])
        func note(_ text: String) { all.withLock { $0.append(text) } }
        var texts: [String] { all.withLock { $0 } }
    }

    private let directory = NSTemporaryDirectory() + "relay-command-\(UUID().uuidString)"
    private let notices = Notices()

    private func command(_ lines: String) throws -> ClientCommand {
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let path = "\(directory)/decide"
        try "#!/bin/sh\n\(lines)\n".write(toFile: path, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
        // While a thousand other tests run, a process takes a long time to start.
        return ClientCommand(program: path, channel: "news", limit: .seconds(300)) { [notices] in notices.note($0) }
    }

    private func request(_ name: String) -> RTMPStreamRequest {
        RTMPStreamRequest(.publish, app: "live", name: name, client: "test/1", capabilities: RTMPCapabilities())
    }

    @Test("A command that exits with status 0 allows the client; it gets the client's data only in its environment")
    func allows() async throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let command = try command(
            """
            [ $# = 0 ] && [ "$RELAY_EVENT $RELAY_CHANNEL $RELAY_ADDRESS" = "publish news 192.0.2.7" ] \\
              && [ "$RELAY_APP/$RELAY_STREAM?$RELAY_QUERY" = 'live/key?token=a b;$(id)' ] && [ "$RELAY_CLIENT" = test/1 ]
            """)
        #expect(await command.allows(request("key?token=a b;$(id)\u{0}\n"), from: "192.0.2.7"))
        #expect(notices.texts.isEmpty)
    }

    @Test("A command that fails or is missing refuses the client, and the logged reason does not contain the key")
    func refuses() async throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let command = try command("echo $RELAY_STREAM >&2; exit 3")
        #expect(await command.allows(request("secret"), from: "192.0.2.7") == false)
        #expect(notices.texts.first?.contains("may not publish: \(command.program) ended with status 3") == true)
        try FileManager.default.removeItem(atPath: command.program)
        #expect(await command.allows(request("secret"), from: "192.0.2.7") == false)
        #expect(notices.texts.count == 2 && !notices.texts.joined().contains("secret"))
        #expect(
            ClientCommand.fault(command.program, of: "--on-play")?.description.hasPrefix("--on-play takes the path")
                == true)
    }

    @Test("If the task that waits for a command's decision about a client is cancelled, the client is refused at once")
    func ends() async throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let command = try command("sleep 60 & wait")
        let asked = Task { await command.allows(request("key"), from: "192.0.2.7") }
        asked.cancel()
        #expect(await asked.value == false)
    }
}
