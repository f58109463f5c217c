// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Foundation

/// `relay ctl events`: shows the newest events, and on request the events that follow.
struct CtlEventsCommand: CtlSubcommand {
    static let configuration = CommandConfiguration(
        commandName: "events", abstract: "Shows what happened: the newest 500 events, and with --follow what happens.",
        discussion: "With --json each event is one line.")

    @OptionGroup var options: CtlOptions

    @Flag(help: "Continue until Ctrl-C, also when relay is restarted.")
    var follow = false

    func perform(_ api: ControlAPI) async throws {
        var last = "0"
        let show = { (event: CtlEvent) in
            Terminal.put((options.json ? PrintedText.json(event.json) : event.line) + "\n", to: 1)
        }
        last = try await CtlEvents.read(api, after: last, isEndless: follow, show)
        while follow {
            try await Task.sleep(for: .seconds(1))
            do {
                last = try await CtlEvents.read(api, after: last, isEndless: true, show)
            } catch let failure as ControlAPI.Failure where failure.status == .nothingDelivered {
                continue
            }
        }
    }
}

/// The events of a running relay.
enum CtlEvents {
    private struct Hello: Decodable { let lastEvent: UInt64? }

    /// Passes the events after number `id` to `show`: with `isEndless` until the connection ends, otherwise only those
    /// that exist already. Returns the number of the last event.
    static func read(
        _ api: ControlAPI, after id: String, isEndless: Bool, _ show: (CtlEvent) -> Void
    ) async throws -> String {
        var parser = EventStreamParser()
        var last = id
        var target: UInt64?
        do {
            try await api.stream("/v1/events", headers: [("Last-Event-ID", id)]) { bytes, _ in
                for message in parser.take(bytes) {
                    let data = Data(message.data.utf8)
                    switch message.event {
                    case "hello": target = try JSONDecoder().decode(Hello.self, from: data).lastEvent
                    case "event":
                        last = message.id ?? last
                        show(try CtlEvent(json: message.data))
                    // relay sends the first status after all events that exist already, so reading ends here.
                    case "status" where !isEndless: return false
                    default: break
                    }
                    if !isEndless, let target, target <= UInt64(last) ?? 0 { return false }
                }
                return true
            }
        } catch let failure as ControlAPI.Failure
            where isEndless && target != nil && failure.status == .nothingDelivered
        {
            return last
        }
        return last
    }
}
