// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import FanOut
internal import Ingest
internal import Media
internal import Program
internal import Segmenter
internal import Status

/// `relay ctl status`: shows the status of channels.
struct CtlStatusCommand: CtlSubcommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Shows the channels, or one of them, with inputs, outputs and recording.",
        discussion: "With --json of one channel, or of the only one, it is all that relay knows of it.")

    @OptionGroup var options: CtlOptions

    @Argument(help: "The channel; all without it.")
    var channel: String?

    func perform(_ api: ControlAPI) async throws {
        let names = if let channel { [channel] } else { try await api.channels() }
        if options.json, channel == nil, names.count != 1 {
            return Terminal.put(try await api.ask("GET", "/v1/channels").text + "\n", to: 1)
        }
        for (index, name) in names.enumerated() {
            let answer = try await api.ask("GET", "/v1/channels/\(ControlAPI.encoded(name))")
            if index > 0 { Terminal.put("\n", to: 1) }
            try put(answer, as: CtlChannel.self, \.text)
        }
    }
}

/// A channel in relay's response, with the fields that the command shows.
struct CtlChannel: Decodable {
    struct Source: Decodable {
        let name: String?
        let state: APIWord<SourceStatus.State>
        let lastError: String?
    }
    struct Selection: Decodable { let onAir: String? }
    struct Part: Decodable {
        let name: String
        let isOnAir: Bool
    }
    struct Output: Decodable {
        struct Queue: Decodable {
            let milliseconds: Double?
            let droppedFrames: Int?
        }
        let name: String
        let rendition: String?
        let state: APIWord<OutputState.Name>
        let address: String?
        let detail: String?
        let liveSeconds: Double?
        let nextAttemptSeconds: Double?
        let roundTripSeconds: Double?
        let endpoint: APIWord<OutputEndpoint>?
        let queue: Queue?
    }
    struct Recorder: Decodable {
        let state: APIWord<RecorderState>
        let fileName: String?
        let segmentSeconds: Double?
        let totalBytes: Int64?
        let gapCount: Int?
        let lastError: String?
        let suspension: String?
    }
    struct Storage: Decodable {
        let state: APIWord<StorageState>
        let freeBytes: Int64?
        let secondsUntilFull: Double?
        let reason: String?
    }
    struct SecondRecording: Decodable {
        let directory: String
        let recorder: Recorder?
        let storage: Storage?
    }

    let name: String
    let state: APIWord<ChannelReport.State>
    let problems: Int
    let programSeconds: Double?
    let sources: [Source]?
    let selection: Selection?
    let parts: [Part]?
    let runDown: RunDownStatus?
    let outputs: [Output]?
    let recorder: Recorder?
    let isRecordingWanted: Bool?
    let storage: Storage?
    let secondRecording: SecondRecording?

    /// The channel's status in lines of text.
    var text: String {
        let time = programSeconds.map { Figure.clock($0) }
        let trouble = problems == 0 ? "well" : problems == 1 ? "1 problem" : "\(problems) problems"
        let head = [name, "\(state)".replacing("_", with: " "), time, trouble].compactMap(\.self).joined(
            separator: "  ")
        var rows = (sources ?? []).enumerated().map { index, source in
            ["input", source.name ?? "\(index + 1)", "\(source.state)", source.lastError ?? ""]
        }
        let seen = parts?.filter(\.isOnAir).map(\.name).joined(separator: "+")
        if let onAir = selection?.onAir ?? seen { rows.append(["", "", "on air", onAir.isEmpty ? "slate" : onAir]) }
        if let runDown { rows.append(["run-down", runDown.name, runDown.state.rawValue, runDown.words]) }
        rows += (outputs ?? []).map { output in
            let detail = Self.isWaiting(output) ? output.detail : nil
            return ["output", output.name, detail ?? "\(output.state)", Self.words(output)]
        }
        rows += self.rows(of: recorder, storage)
        if let second = secondRecording {
            rows.append(["also", second.directory, "", ""])
            rows += self.rows(of: second.recorder, second.storage)
        }
        return "\(PrintedText.escaped(head))\n" + TextTable.text(rows.map { [" "] + $0 })
    }

    private func rows(of recorder: Recorder?, _ storage: Storage?) -> [[String]] {
        var rows: [[String]] = []
        if let recorder {
            let isStoppedByHand = recorder.state.known == .stopped && isRecordingWanted == false
            let state = isStoppedByHand ? "stopped by the operator" : "\(recorder.state)"
            rows.append(["record", "", state, Self.words(recorder)])
        }
        if let storage { rows.append(["disk", "", "\(storage.state)", Self.words(storage)]) }
        return rows
    }

    /// Whether the output waits for a receiver or player to connect. The command then prints the output's `detail` in
    /// place of the state's name.
    private static func isWaiting(_ output: Output) -> Bool { output.state.known == .waiting }

    private static func words(_ output: Output) -> String {
        var words = output.rendition.map { ["takes \($0)"] } ?? []
        if output.state.known == .live {
            words += [output.liveSeconds.map { Figure.clock($0) }, output.address].compactMap(\.self)
            if let place = output.endpoint, place.known != .primary { words.append("at \(place)") }
            words += output.queue?.milliseconds.map { ["queue \(Figure.whole($0)) ms"] } ?? []
            words += output.roundTripSeconds.map { ["rtt \(Figure.decimal($0 * 1000)) ms"] } ?? []
        } else {
            words += [output.address, isWaiting(output) ? nil : output.detail].compactMap(\.self)
            words += output.nextAttemptSeconds.map { ["again in \(Figure.decimal($0)) s"] } ?? []
        }
        if let dropped = output.queue?.droppedFrames, dropped > 0 { words.append("dropped \(dropped)") }
        return words.joined(separator: "  ")
    }

    private static func words(_ recorder: Recorder) -> String {
        let gaps = recorder.gapCount.flatMap { $0 > 0 ? "\($0) gaps" : nil }
        return [
            recorder.fileName, recorder.segmentSeconds.map { Figure.clock($0) },
            recorder.totalBytes.map { ByteSize(bytes: $0).description }, gaps,
            recorder.suspension, recorder.lastError,
        ].compactMap(\.self).joined(separator: "  ")
    }

    private static func words(_ storage: Storage) -> String {
        let full = storage.secondsUntilFull.map {
            $0 < 2 * 86_400 ? "full in \(Figure.clock($0))" : "not full for days"
        }
        return [storage.freeBytes.map { "\(ByteSize(bytes: $0)) free" }, full, storage.reason].compactMap(\.self)
            .joined(separator: "  ")
    }
}
