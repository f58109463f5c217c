// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@testable import Catalogue
@testable import Upload

@Suite("Commands that are run for finished recordings")
struct CommandTests {
    private let directory: TemporaryDirectory
    private let lock: UploadLock

    init() throws {
        directory = try TemporaryDirectory()
        lock = try #require(try UploadLock(directory: directory.path, channel: "test"))
    }

    @discardableResult
    private func deliver(
        _ script: String, _ name: String = "a.mp4", limit: Duration = .seconds(60)
    ) async throws -> Delivered {
        try directory.write("#!/bin/sh\n" + script, to: "hook", isProgram: true)
        return try await CommandDelivery(directory.path("hook"), limit: limit)
            .deliver(.sample(name), at: directory.path(name), holding: lock)
    }

    @Test("The place of a file for which a command was run is the command's absolute path")
    func place() async throws { #expect(try await deliver("exit 0").place == directory.path("hook")) }

    @Test("An upload command gets its environment variables unchanged, whatever the file's name contains")
    func variables() async throws {
        let name = "a b'$(touch x)\".mp4"
        try await deliver(#"printf '%s|%s' "$RELAY_SEGMENT_NAME" "$RELAY_BYTES" > "$(dirname "$0")/said""#, name)
        #expect(directory.text("said") == "\(name)|1000")
    }

    @Test(
        "If an upload command exits with 75 it is run again later; any other status but 0 is a failure",
        arguments: [75, 74, 1])
    func later(status: Int) async throws {
        let failure = try await #require(throws: DeliveryFailure.self) { try await deliver("exit \(status)") }
        #expect(failure.isLater == (status == 75))
    }

    @Test("A failing upload command is reported with the last line of its output")
    func failure() async throws {
        let failure = try await #require(throws: DeliveryFailure.self) {
            try await deliver("echo first >&2; echo https://u:pw@h/x?k=pw >&2; exit 3")
        }
        #expect(failure.description == "\(directory.path("hook")) ended with status 3: https://h/x?***")
    }

    @Test("Much output, or a background process left behind, does not delay the end of an upload command")
    func loud() async throws {
        // If relay waited for the background process, or did not read the output, the command would exceed its time
        // limit.
        let script = #"""
            cd "$(dirname "$0")"; sleep 1000 & echo $! > pid
            head -c 1000000 /dev/zero && head -c 1000000 /dev/zero >&2 && echo yes > wrote; exit 0
            """#
        try await deliver(script, limit: .seconds(60))
        if let child = Int32(directory.text("pid").trimmingCharacters(in: .whitespacesAndNewlines)) {
            kill(child, SIGKILL)
        }
        #expect(directory.text("wrote") == "yes\n")
    }

    @Test("An upload command that exceeds its time limit is killed, together with its child processes")
    func limit() async throws {
        let failure = try await #require(throws: DeliveryFailure.self) {
            try await deliver(#"sleep 1000 & echo $! > "$(dirname "$0")/pid"; wait"#, limit: .seconds(2))
        }
        #expect(failure.description.contains("longer than 2 s"))
        let child = try #require(Int32(directory.text("pid").trimmingCharacters(in: .whitespacesAndNewlines)))
        try await eventually { kill(child, 0) != 0 || isZombie(child) }
    }

    private func isZombie(_ pid: Int32) -> Bool {
        (try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8))?.contains(") Z ") ?? true
    }

    @Test("An upload command whose path is not an executable program is refused")
    func refused() throws {
        for path in ["/nowhere/hook", directory.path, "/etc/passwd"] {
            let refusal = try #require(throws: UploadRefusal.self) { try CommandDelivery(path) }
            #expect(refusal.description.contains(path))
        }
    }
}
