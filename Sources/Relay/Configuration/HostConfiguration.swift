// SPDX-License-Identifier: Apache-2.0

internal import Control
internal import Foundation

/// What a configuration file asks of the process: read, checked, and free of contradictions.
struct HostConfiguration {
    /// The file.
    let path: String
    /// How the log looks.
    let log: ConfigurationReader.Log
    /// How the HTTP server listens.
    let http: ControlSettings
    /// At least one; each has a name of its own.
    let channels: [ConfiguredChannel]

    private static let mostBytes = 1 << 20

    /// Reads the file at `path`. Blocks on the disk, and reads the files of secrets that it refers to. Throws all that is
    /// wrong with it.
    init(reading path: String) throws(ConfigurationFailure) {
        try self.init(parsing: try Self.text(at: path), path: path)
    }

    /// The text of the file at `path`, 1 MiB at most. Blocks on the disk.
    static func text(at path: String) throws(ConfigurationFailure) -> String {
        let data: Data
        do {
            let handle = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
            defer { try? handle.close() }
            data = try handle.read(upToCount: mostBytes + 1) ?? Data()
        } catch {
            throw failure(path, "The file cannot be read: \(reason(error)).")
        }
        guard data.count <= mostBytes else { throw failure(path, "The file is larger than 1 MiB.") }
        guard let text = String(validating: data, as: UTF8.self) else {
            throw failure(path, "The file is no text in UTF-8.")
        }
        return text
    }

    /// Reads the file at `path`, which a command was given: what is wrong with it is printed, and thrown is the exit code.
    static func forCommand(at path: String) throws -> HostConfiguration {
        do throws(ConfigurationFailure) {
            return try HostConfiguration(reading: path)
        } catch {
            Terminal.put(error.lines.map { "Error: \($0)\n" }.joined(), to: STDERR_FILENO)
            throw ExitStatus.usage.code
        }
    }

    /// Reads `text`, what is in the file at `path`.
    init(parsing text: String, path: String) throws(ConfigurationFailure) {
        let reader = ConfigurationReader(try ConfigurationNode(parsing: text, path: path))
        var faults = reader.faults
        var channels: [ConfiguredChannel] = []
        for flags in reader.channels {
            // What is missing because it could not be read is no fault of its own.
            guard !reader.faults.contains(where: { $0.key.hasPrefix(flags.key) }) else { continue }
            do throws(ConfigurationFailure) {
                let channel = try ConfiguredChannel(flags, path: path)
                if channels.contains(where: { $0.name == channel.name }) {
                    faults.append(
                        .init(
                            mark: flags.marks["name"] ?? flags.mark, key: "\(flags.key).name",
                            text: "Another channel has this name; each has one of its own."))
                }
                channels.append(channel)
            } catch {
                faults += error.faults
            }
        }
        var http = ControlSettings()
        do throws(ControlKeys.Fault) {
            if !reader.faults.contains(where: { $0.key.hasPrefix("http") }) { http = try reader.http.settings() }
        } catch {
            faults.append(
                .init(
                    mark: reader.httpMarks[error.key] ?? reader.httpMarks[""], key: "http.\(error.key)",
                    text: error.text))
        }
        guard faults.isEmpty else {
            let first = ConfigurationMark(line: 0, column: 0)
            throw ConfigurationFailure(path: path, faults: faults.sorted { ($0.mark ?? first) < ($1.mark ?? first) })
        }
        (self.path, self.channels, self.http, log) = (path, channels, http, reader.log)
    }

    /// Descriptors that all channels' outputs hold at most.
    var descriptors: Int { channels.reduce(0) { $0 + $1.configuration.descriptors } }

    private static func failure(_ path: String, _ text: String) -> ConfigurationFailure {
        ConfigurationFailure(path: path, faults: [.init(mark: nil, key: "", text: text)])
    }

    private static func reason(_ error: any Error) -> String {
        let underlying = (error as NSError).userInfo[NSUnderlyingErrorKey] as? NSError
        guard let underlying, underlying.domain == NSPOSIXErrorDomain else { return "\(error.localizedDescription)" }
        return String(cString: strerror(CInt(underlying.code)))
    }
}
