// SPDX-License-Identifier: Apache-2.0

internal import Channel
internal import Foundation
internal import Studio
internal import Upload

/// Collects the files of a fault report. In the end, all known secrets are removed from all files.
struct DiagnosticReport {
    /// The files of the report that are collected so far.
    private(set) var files: [(name: String, text: String)] = []
    /// Notes about information that could not be collected.
    private(set) var notes: [String] = []
    /// The directories of recordings that the configuration file names.
    private(set) var directories: [String] = []
    private var secrets = SecretScrubber()

    /// Adds a file with this name and content to the report.
    mutating func add(_ name: String, _ text: String) { files.append((name, text)) }

    /// The files, with all known secrets removed.
    var scrubbed: [(name: String, text: String)] {
        let all = files + [("notes.txt", notes.map { $0 + "\n" }.joined())]
        return all.map { ($0.name, secrets.scrubbing($0.text)) }
    }

    /// Adds the configuration file at `path`, without comments and without possible secrets, and the errors in it. If
    /// there is no file or it cannot be read, adds a note.
    mutating func readConfiguration(_ path: String?) {
        guard let path else {
            notes.append("no configuration file: --config names it")
            return
        }
        let text: String
        do {
            text = try String(contentsOfFile: path, encoding: .utf8)
        } catch {
            notes.append("the configuration file cannot be read")
            return
        }
        do throws(ConfigurationFailure) {
            let masked = MaskedConfiguration(
                try ConfigurationNode(parsing: text, path: path, words: ConfigurationKey.words))
            add("configuration.yaml", masked.text)
            directories = masked.directories
            secrets = SecretScrubber(masked.secrets)
            _ = try HostConfiguration(parsing: text, path: path)
        } catch {
            add("configuration-errors.txt", error.lines.map { $0 + "\n" }.joined())
        }
    }

    /// Asks the running relay through `api` for its state, and adds the responses. Returns the directories in which
    /// relay records; empty if it does not answer.
    mutating func ask(_ api: ControlAPI) async -> [String] {
        struct Storage: Decodable { let directory: String? }
        struct Channel: Decodable {
            let storage: Storage?
            let secondRecording: Storage?
        }
        guard await take(api, "/v1", as: "relay.json") != nil else { return [] }
        _ = await take(api, "/v1/channels", as: "channels.json")
        _ = await take(api, "/metrics", as: "metrics.txt")
        await takeEvents(api)
        var directories: [String] = []
        for (index, name) in ((try? await api.channels()) ?? []).enumerated() {
            let path = "/v1/channels/\(ControlAPI.encoded(name))"
            if let answer = await take(api, path, as: "channel-\(index + 1).json") {
                let channel = try? answer.decoded(Channel.self)
                directories += [channel?.storage?.directory, channel?.secondRecording?.directory].compactMap(\.self)
            }
            await takeRecordings(api, path, "recordings-\(index + 1).json")
        }
        return directories
    }

    private mutating func take(_ api: ControlAPI, _ path: String, as name: String) async -> ControlAPI.Answer? {
        do {
            let answer = try await api.ask("GET", path)
            add(name, answer.text + "\n")
            return answer
        } catch {
            notes.append("\(name): \(error)")
            return nil
        }
    }

    private mutating func takeEvents(_ api: ControlAPI) async {
        var lines = ""
        do {
            _ = try await CtlEvents.read(api, after: "0", isEndless: false) { lines += $0.json + "\n" }
        } catch {
            notes.append("events.json: \(error)")
        }
        add("events.json", lines)
    }

    /// Adds only the totals and the gaps of recordings: a list of all files would be long and of little use.
    private mutating func takeRecordings(_ api: ControlAPI, _ path: String, _ name: String) async {
        do {
            let answer = try await api.ask("GET", path + "/recordings")
            let object = try JSONSerialization.jsonObject(with: Data(answer.bytes)) as? [String: Any] ?? [:]
            let summary = object.filter { ["totals", "gaps", "events"].contains($0.key) }
            let data = try JSONSerialization.data(withJSONObject: summary, options: [.prettyPrinted, .sortedKeys])
            add(name, String(decoding: data, as: UTF8.self) + "\n")
        } catch {
            notes.append("\(name): \(error)")
        }
    }

    /// Adds the result of `relay check` for the configuration file at `path`.
    mutating func check(_ path: String) async {
        guard let own = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe") else { return }
        let command = ChildCommand(program: own, arguments: ["check", "--json", path], limit: .seconds(180))
        do {
            let outcome = try await command.run()
            add("check.json", outcome.output + outcome.errors)
        } catch {
            notes.append("check.json: \(error)")
        }
    }
}

/// Replaces all known secrets in a text.
struct SecretScrubber {
    /// The secrets, with the longest first, because a secret may be part of a longer one.
    private let secrets: [String]

    /// Creates a scrubber that replaces `secrets`.
    init(_ secrets: Set<String> = []) {
        self.secrets = secrets.sorted { ($0.count, $0) > ($1.count, $1) }
    }

    /// Returns `text` with each secret replaced.
    func scrubbing(_ text: String) -> String {
        secrets.reduce(text) { $0.replacing($1, with: "***") }
    }
}
