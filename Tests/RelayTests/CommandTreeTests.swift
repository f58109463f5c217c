// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Channel
import Dispatch
import Testing

@testable import Relay

@Suite("The command tree")
struct CommandTreeTests {
    @Test(
        "Flags without a subcommand are parsed as flags of the command run",
        arguments: [
            ["--rtmp", "rtmp://host/live/key", "--record", "recordings"], ["--record", "recordings"],
            ["run", "--record", "recordings"], ["--channel", "recordings", "--record", "d"],
        ])
    func run(arguments: [String]) throws {
        let command = try #require(try RelayCommand.parseAsRoot(arguments) as? RunCommand)
        #expect(try command.channelConfiguration().recording != nil)
    }

    @Test("A flag that takes a single value is refused if it occurs twice")
    func twice() {
        #expect(RunCommand.repeated(in: ["relay", "--record", "a", "--rtmp", "x", "--rtmp", "y"]) == nil)
        #expect(RunCommand.repeated(in: ["relay", "--record", "a", "--record=b"]) == "--record")
        #expect(RunCommand.repeated(in: ["relay", "--slate=a", "--channel", "c", "--slate", "b"]) == "--slate")
        #expect(RunCommand.repeated(in: ["relay", "--input=a#name=x", "--channel", "c", "--input", "b"]) == nil)
    }

    @Test("The subcommand recordings is in the parser, in the help and in completion scripts")
    func recordings() throws {
        let list = try RelayCommand.parseAsRoot(["recordings", "list", "directory", "--json"])
        #expect((list as? RecordingsListCommand)?.options.json == true)
        #expect(RelayCommand.helpMessage().contains("\n  recordings"))
        for shell in CompletionShell.allCases {
            let script = RelayCommand.completionScript(for: shell)
            #expect(script.contains("recordings") && script.contains("verify") && script.contains("video-bitrate"))
        }
    }

    @Test("The help of relay contains subcommands, flags that work without one, the exit status and the signals")
    func help() {
        let help = RelayCommand.help(columns: 100)
        for piece in [
            "\n  recordings", "\n  run (default)", "--input", "--rtmp", "--segment", "Exit status", "SIGUSR1",
        ] {
            #expect(help.contains(piece), "\(piece)")
        }
    }

    /// Blocks until `count` commands have begun their work.
    private struct Waiting: BlockingCommand {
        static let count = 16
        static let (begun, all) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))

        func work() throws {
            Self.begun.signal()
            Self.all.wait()
        }
    }

    @Test("Sixteen blocking commands can run at the same time, even if the machine has fewer cores")
    func blockingWork() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<Waiting.count { group.addTask { try await Waiting.parse([]).run() } }
            // This task ends only if all commands run at the same time.
            group.addTask {
                await withCheckedContinuation { continuation in
                    DispatchQueue.global().async {
                        for _ in 0..<Waiting.count { Waiting.begun.wait() }
                        for _ in 0..<Waiting.count { Waiting.all.signal() }
                        continuation.resume()
                    }
                }
            }
            try await group.waitForAll()
        }
    }
}
