// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Channel
internal import FanOut
internal import Foundation
internal import Media
internal import Studio

/// One channel that flags or a configuration file describe, with the data that is needed to find the changes in a later
/// version of the file.
struct ConfiguredChannel {
    /// A live output of the channel.
    struct Output: Hashable {
        /// The flag that is equivalent to the output's node in the file: `--output=…`.
        let text: String
        /// The output's address and the values of its options, with the secrets themselves in place of the references
        /// to them. So this text changes when a secret changes, and it must not be shown.
        let identity: String
    }

    /// The configuration with which the channel runs.
    let configuration: ChannelConfiguration
    /// The outputs, in the order of ``ChannelConfiguration/outputs``.
    let outputs: [Output]
    /// The flags that concern the channel's recording.
    let recording: [String]
    /// All flags except those of ``outputs`` and ``recording``.
    let others: [String]

    var name: String { configuration.name }

    /// Creates a channel that flags describe. It cannot be reloaded.
    init(_ configuration: ChannelConfiguration) {
        self.configuration = configuration
        (outputs, recording, others) = ([], [], [])
    }

    /// Creates a channel from `flags`, and checks them by the rules of the command line. Throws an error with its
    /// position in the file at `path`.
    init(_ flags: ChannelFlags, path: String) throws(ConfigurationFailure) {
        let arguments = flags.flags.map(\.argument)
        let has = { (path: String) in flags.flags.contains { $0.path == path } }
        guard has("outputs") || has("recording.directory") else {
            let text = "There is nothing to do: give outputs, or a recording with its directory."
            throw ConfigurationFailure(path: path, faults: [.init(mark: flags.mark, key: flags.key, text: text)])
        }
        let hiding = { (text: String) in ArgumentMask.hidingSecrets(of: arguments, in: text) }
        let options: RunFlags
        do {
            options = try RunFlags.parse(arguments)
        } catch {
            throw ConfigurationFailure(path: path, faults: [Self.unreadable(error, flags, hiding: hiding)])
        }
        do throws(TextFailure) {
            var configuration = try options.channelConfiguration()
            configuration.origin = .file
            self.configuration = configuration
        } catch {
            throw ConfigurationFailure(path: path, faults: [flags.fault(error, hiding: hiding)])
        }
        let texts = flags.flags.filter { $0.path == "outputs" }.map(\.argument)
        outputs = zip(texts, configuration.outputs).map { Output(text: $0, identity: $1.identity) }
        let recorded = Set(ConfigurationKey.all.filter(\.isOfRecording).map(\.path))
        recording = flags.flags.filter { recorded.contains($0.path) }.map(\.argument)
        others = flags.flags.filter { $0.path != "outputs" && !recorded.contains($0.path) }.map(\.argument)
    }

    /// Whether `other` has the same configuration.
    func isIdentical(to other: ConfiguredChannel) -> Bool {
        hasSameProgram(as: other) && outputs == other.outputs && recording == other.recording
    }

    /// Whether `other` has the same configuration except for its outputs and its recording.
    func hasSameProgram(as other: ConfiguredChannel) -> Bool {
        others == other.others && configuration.allInputs == other.configuration.allInputs
    }

    /// Returns the flags of `recording` that concern the recording in the record directory: all except the second
    /// directory.
    static func first(_ recording: [String]) -> [String] { recording.filter { !$0.hasPrefix("--record-also=") } }

    /// Returns the error for the first of `flags` whose value the argument parser cannot read, with the position of its
    /// node.
    private static func unreadable(
        _ error: any Error, _ flags: ChannelFlags, hiding: (String) -> String
    ) -> ConfigurationFailure.Fault {
        for flag in flags.flags {
            do {
                _ = try RunFlags.parse([flag.argument])
            } catch {
                let message = hiding(RunFlags.message(for: error))
                return .init(
                    mark: flag.mark, key: "\(flags.key).\(flag.key)",
                    text: naming(flag.path, insteadOf: flag.flag, in: message))
            }
        }
        return .init(mark: flags.mark, key: flags.key, text: hiding(RunFlags.message(for: error)))
    }

    /// Returns the argument parser's `message` with the key `path` in place of `flag`. The parser writes the flag with
    /// its value, in quotation marks.
    private static func naming(_ path: String, insteadOf flag: Substring, in message: String) -> String {
        guard let start = message.range(of: "'\(flag)"), let end = message[start.upperBound...].firstIndex(of: "'")
        else { return message }
        return message.replacingCharacters(in: start.lowerBound...end, with: path)
    }
}
