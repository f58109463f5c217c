// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Channel
internal import FanOut
internal import Studio

/// One channel as flags or a configuration file describe it, with what is needed to tell what another version of the
/// file changes.
struct ConfiguredChannel {
    /// A live output of it.
    struct Output: Hashable {
        /// What the file says.
        let text: String
        /// The same with the secrets in place: not to be shown. It changes if a secret does.
        let identity: String
    }

    /// What it is to do.
    let configuration: ChannelConfiguration
    /// The outputs, in the order of ``ChannelConfiguration/outputs``.
    let outputs: [Output]
    /// The flags that stand for how it is recorded.
    let recording: [String]
    /// All other flags.
    let others: [String]

    var name: String { configuration.name }

    /// A channel that flags describe, which are not read again.
    init(_ configuration: ChannelConfiguration) {
        self.configuration = configuration
        (outputs, recording, others) = ([], [], [])
    }

    /// Checks `flags` by the rules of the command line. Throws what is wrong, with its place in the file at `path`.
    init(_ flags: ConfigurationReader.ChannelFlags, path: String) throws(ConfigurationFailure) {
        let arguments = flags.flags.map(\.argument)
        let has = { (path: String) in flags.flags.contains { $0.path == path } }
        guard has("outputs") || has("recording.directory") else {
            let text = "There is nothing to do: give outputs, or a recording with its directory."
            throw ConfigurationFailure(path: path, faults: [.init(mark: flags.mark, key: flags.key, text: text)])
        }
        do {
            var configuration = try RunCommand.parse(arguments).channelConfiguration()
            configuration.origin = .file
            self.configuration = configuration
        } catch {
            let message = ArgumentMask.hidingSecrets(of: arguments, in: RunCommand.message(for: error))
            throw ConfigurationFailure(path: path, faults: [Self.fault(message, flags)])
        }
        let texts = flags.flags.filter { $0.path == "outputs" }.map(\.argument)
        outputs = zip(texts, configuration.outputs).map { Output(text: $0, identity: $1.identity) }
        let recorded = Set(ConfigurationKey.all.filter(\.isOfRecording).map(\.path))
        recording = flags.flags.filter { recorded.contains($0.path) }.map(\.argument)
        others = flags.flags.filter { $0.path != "outputs" && !recorded.contains($0.path) }.map(\.argument)
    }

    /// Whether `other` asks for the same.
    func isIdentical(to other: ConfiguredChannel) -> Bool {
        hasSameProgram(as: other) && outputs == other.outputs && recording == other.recording
    }

    /// Whether `other` differs at most in its outputs and its recording.
    func hasSameProgram(as other: ConfiguredChannel) -> Bool {
        others == other.others && configuration.allInputs == other.configuration.allInputs
    }

    /// Converts an error of the command line to a fault of the corresponding key.
    private static func fault(
        _ message: String, _ flags: ConfigurationReader.ChannelFlags
    ) -> ConfigurationFailure.Fault {
        var paths: [String] = []
        let flag = /'?(--[a-z][a-z-]*)(?: <[^>]*>)?'?/
        let text = message.replacing(flag) { match in
            guard let path = Self.path(of: String(match.output.1)) else { return String(match.output.0) }
            paths.append(path)
            return path
        }
        if paths.first == "outputs", let number = text.firstMatch(of: /outputs number (\d+)/).flatMap({ Int($0.1) }) {
            paths[0] = "outputs[\(number - 1)]"
        }
        if paths.first == "input", flags.marks["inputs"] != nil {
            let number = text.firstMatch(of: /input number (\d+)/).flatMap { Int($0.1) }
            paths[0] = number.map { "inputs[\($0 - 1)]" } ?? "inputs"
        }
        if paths.first == "renditions", let name = text.firstMatch(of: /renditions ([A-Za-z0-9._-]+):/)?.1 {
            paths[0] = "renditions.\(name)"
        }
        let path = paths.first { flags.marks[$0] != nil } ?? paths.first
        let key = [flags.key, path].compactMap(\.self).joined(separator: ".")
        return .init(mark: path.flatMap { flags.marks[$0] } ?? flags.mark, key: key, text: text)
    }

    /// The key that stands for a flag; nil if no key does.
    private static func path(of flag: String) -> String? {
        switch flag {
        case "--input": return "input"
        case "--output", "--rtmp", "--srt": return "outputs"
        case "--rendition": return "renditions"
        case "--scene": return "scenes"
        case "--overlay": return "overlays"
        case "--stinger": return "stingers"
        default: break
        }
        let key = ConfigurationKey.all.first { key in
            if case .choice(let flags) = key.form { return flags.values.contains(flag) }
            return key.flag == flag
        }
        return key?.path
    }
}
