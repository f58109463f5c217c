// SPDX-License-Identifier: Apache-2.0

internal import Channel
internal import Control
internal import Foundation
internal import Studio

/// The configuration of the process, from a configuration file or from flags. It has been checked, and contains no
/// contradictions.
struct HostConfiguration {
    /// The path of the file; nil for a configuration from flags, which cannot be reloaded.
    let path: String?
    /// The settings of the log.
    let log: ConfigurationReader.Log
    /// The settings of the HTTP server.
    let http: ControlSettings
    /// The channels, at least one; each has a unique name.
    let channels: [ConfiguredChannel]

    /// The configuration made from flags, which describe one channel.
    init(_ channel: ChannelConfiguration, http: ControlSettings) {
        (path, log, self.http) = (nil, ConfigurationReader.Log(), http)
        channels = [ConfiguredChannel(channel)]
    }

    /// Reads the file at `path`, and the files of secrets to which it refers. Blocks on the disk. Throws all errors in
    /// the file at once.
    init(reading path: String) throws(ConfigurationFailure) {
        try self.init(parsing: try ConfigurationNode.text(at: path), path: path)
    }

    /// Reads the file at `path` for a command. If it has errors, prints them and throws the exit code.
    static func forCommand(at path: String) throws -> HostConfiguration {
        do throws(ConfigurationFailure) {
            return try HostConfiguration(reading: path)
        } catch {
            Terminal.put(error.lines.map { "Error: \($0)\n" }.joined(), to: STDERR_FILENO)
            throw ExitStatus.usage.code
        }
    }

    /// Reads `text`, the content of the file at `path`.
    init(parsing text: String, path: String) throws(ConfigurationFailure) {
        let reader = ConfigurationReader(
            try ConfigurationNode(parsing: text, path: path, words: ConfigurationKey.words))
        var faults = reader.faults
        var channels: [ConfiguredChannel] = []
        var http = ControlSettings()
        do throws(ControlKeys.Fault) {
            if reader.isHTTPRead { http = try reader.http.settings() }
        } catch {
            faults.append(
                .init(
                    mark: reader.httpMarks[error.key] ?? reader.httpMarks[""], key: "http.\(error.key)",
                    text: error.text))
        }
        var listening = ListeningPlan()
        listening.add(http)
        for flags in reader.channels {
            // A channel that could not be read completely is not checked, because each missing part would cause another
            // error.
            guard flags.isRead else { continue }
            do throws(ConfigurationFailure) {
                let channel = try ConfiguredChannel(flags, path: path)
                if channels.contains(where: { $0.name == channel.name }) {
                    faults.append(
                        .init(
                            mark: flags.marks["name"] ?? flags.mark, key: "\(flags.key).name",
                            text: "Another channel has this name; each has one of its own."))
                } else if let twice = Self.recordedTwice(channel, channels) {
                    faults.append(
                        .init(
                            mark: flags.marks["name"] ?? flags.mark, key: "\(flags.key).name",
                            text: "Files called \(twice) would be those of two channels; give this one another name."))
                }
                channels.append(channel)
                listening.add(channel, flags)
            } catch {
                faults += error.faults
            }
        }
        faults += listening.faults
        guard faults.isEmpty else {
            let first = ConfigurationMark(line: 0, column: 0)
            throw ConfigurationFailure(path: path, faults: faults.sorted { ($0.mark ?? first) < ($1.mark ?? first) })
        }
        (self.path, self.channels, self.http, log) = (path, channels, http, reader.log)
    }

    /// Returns a name under which both `channel` and one of `others` would record in the same directory; nil if there is
    /// no such name. Blocks on the disks, but not for ever.
    private static func recordedTwice(_ channel: ConfiguredChannel, _ others: [ConfiguredChannel]) -> String? {
        others.lazy.compactMap { channel.configuration.nameRecordedTwice(with: $0.configuration) }.first
    }

    /// Returns `runs` in the order of the channels in the configuration. `name` is the name of a run's channel; runs of
    /// other channels come last.
    func ordered<Run>(_ runs: [Run], by name: (Run) -> String) -> [Run] {
        let places = Dictionary(channels.enumerated().map { ($1.name, $0) }, uniquingKeysWith: min)
        return runs.sorted { places[name($0)] ?? .max < places[name($1)] ?? .max }
    }

    /// The maximum number of file descriptors that the outputs of all channels use together.
    var descriptors: Int { channels.reduce(0) { $0 + $1.configuration.descriptors } }

    /// The number of outputs of all channels.
    var outputCount: Int { channels.reduce(0) { $0 + $1.configuration.outputs.count } }
}
