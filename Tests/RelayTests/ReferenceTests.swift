// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import Testing

@testable import Relay

/// Compares `docs/reference.md`, the reference of all commands and flags, with the command itself.
///
/// `RELAY_WRITE_REFERENCE=1 swift test --filter ReferenceTests` writes the file again.
@Suite("The reference of commands and flags")
struct ReferenceTests {
    private var path: URL {
        URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("docs/reference.md")
    }

    private var text: String {
        """
        # Reference

        Every command and flag, as `relay --help`, `relay help run` and `relay help recordings` print them. This page is \
        made from the command itself, by `RELAY_WRITE_REFERENCE=1 swift test --filter ReferenceTests`; a test fails when \
        it is not what the command says.


        """ + chapters(of: RelayCommand.self, path: []).joined(separator: "\n")
    }

    /// Returns a chapter for `command` and each of its subcommands, in order.
    private func chapters(of command: any ParsableCommand.Type, path: [String]) -> [String] {
        let path = path + [command._commandName]
        let help = RelayCommand.helpMessage(for: command, columns: 100)
        let lines = help.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            String(line.reversed().drop { $0 == " " }.reversed())
        }
        let chapter = "## \(path.joined(separator: " "))\n\n```text\n\(lines.joined(separator: "\n"))\n```\n"
        return [chapter] + command.configuration.subcommands.flatMap { chapters(of: $0, path: path) }
    }

    @Test("docs/reference.md equals the help of all commands")
    func isCurrent() throws {
        if ProcessInfo.processInfo.environment["RELAY_WRITE_REFERENCE"] == "1" {
            try text.write(to: path, atomically: true, encoding: .utf8)
        }
        let written = try String(contentsOf: path, encoding: .utf8)
        #expect(
            written == text,
            "docs/reference.md is stale: RELAY_WRITE_REFERENCE=1 swift test --filter ReferenceTests writes it anew")
    }

    @Test("The text for docs/reference.md contains a nested command and flags of several commands")
    func isComplete() {
        for piece in [
            "## relay recordings export\n", "--rtmp <url>", "--disk-reserve", "--keep-free", "--crf", "--deep",
        ] {
            #expect(text.contains(piece), "\(piece)")
        }
    }
}
