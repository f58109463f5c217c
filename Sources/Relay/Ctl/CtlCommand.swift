// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser

/// `relay ctl`: controls a running relay through its HTTP API.
struct CtlCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ctl", abstract: "Shows what a running relay does, and changes it.",
        discussion: """
            Without --url it is the relay of this host, by its Unix socket: --socket, else relay.sock in \
            $RUNTIME_DIRECTORY, else /run/relay/relay.sock. Who may open the socket needs no token. With --url it is \
            any relay with --http; its token is --token or the environment's RELAY_TOKEN.

            Examples:
              relay ctl status
              relay ctl output add "srt://live.example:9000#name=second"
              relay ctl events --follow
              relay ctl clip start --before 10s goal
              relay ctl export --from 2026-11-21T14:03:10Z --to +14:27 -o clip.mp4

            Exit status: 0 done, 1 relay says no, 64 wrong flags, 69 nobody answers.
            """,
        subcommands: [
            CtlStatusCommand.self, CtlEventsCommand.self, CtlOutputCommand.self, CtlRecordingCommand.self,
            CtlUploadCommand.self, CtlMarkCommand.self, CtlKeyframeCommand.self, CtlReloadCommand.self,
            CtlExportCommand.self,
            CtlClipCommand.self, CtlCheckCommand.self,
        ])
}
