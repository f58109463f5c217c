// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport

/// A program that a test runs. Its output goes to files. The program is ended when this object is released.
final class ChildProcess: Sendable {
    /// How a program ended.
    enum Ending: Equatable {
        case exited(Int32)
        case killed(signal: Int32)
    }

    let program: String
    private let process: Process
    private let outputPath: String
    private let errorPath: String
    private let directory: TemporaryDirectory

    /// Starts `program`, which is a name in the PATH or a path. Standard output goes to the file `output`, or is kept.
    /// `environment` is added to the environment of this process.
    init(
        _ program: String, _ arguments: [String], environment: [String: String] = [:], output: String? = nil
    ) throws {
        self.program = program
        directory = try TemporaryDirectory()
        outputPath = output ?? directory.file("output")
        errorPath = directory.file("error")
        process = Process()
        process.executableURL = URL(fileURLWithPath: try Tools.path(of: program))
        process.arguments = arguments
        if !environment.isEmpty {
            process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        }
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = try Self.create(outputPath)
        process.standardError = try Self.create(errorPath)
        try process.run()
    }

    deinit {
        guard process.isRunning else { return }
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    private static func create(_ path: String) throws -> FileHandle {
        guard FileManager.default.createFile(atPath: path, contents: nil) else {
            throw HarnessFailure("\(path) cannot be created.")
        }
        return try FileHandle(forWritingTo: URL(fileURLWithPath: path))
    }

    var pid: pid_t { process.processIdentifier }
    var isRunning: Bool { process.isRunning }

    /// The text that the program has written to standard output.
    var output: String { Self.text(outputPath) }
    /// The text that the program has written to standard error.
    var errors: String { Self.text(errorPath) }

    private static func text(_ path: String) -> String {
        String(decoding: FileManager.default.contents(atPath: path) ?? Data(), as: UTF8.self)
    }

    /// Sends a signal if the program is still running.
    func signal(_ number: Int32) {
        if process.isRunning { kill(process.processIdentifier, number) }
    }

    /// Waits for the end of the program.
    @discardableResult
    func ending(within limit: Duration) async throws -> Ending {
        do {
            try await eventually("\(program) ends", within: limit) { !process.isRunning }
        } catch {
            throw HarnessFailure("\(error) It said: \(errors.suffix(2000))")
        }
        return process.terminationReason == .exit
            ? .exited(process.terminationStatus) : .killed(signal: process.terminationStatus)
    }

    /// Returns a line of `/proc/<pid>/status` in KiB, such as `VmRSS`.
    func memory(_ field: String) throws -> Int {
        let status = try String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)
        let line = status.split(separator: "\n").first { $0.hasPrefix(field + ":") }
        guard let number = line?.split(whereSeparator: \.isWhitespace).dropFirst().first, let kibibytes = Int(number)
        else { throw HarnessFailure("/proc/\(pid)/status has no \(field).") }
        return kibibytes
    }

    /// The paths of the files that the program has open.
    var openFiles: [String] {
        fileNames(in: "/proc/\(pid)/fd").compactMap {
            try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(pid)/fd/\($0)")
        }
    }
}

/// Runs a program to its end, and returns what it wrote. Throws if the program fails.
@discardableResult
func run(
    _ program: String, _ arguments: [String], output: String? = nil, within limit: Duration = .seconds(60)
) async throws -> String {
    let process = try ChildProcess(program, arguments, output: output)
    let ending = try await process.ending(within: limit)
    guard ending == .exited(0) else {
        throw HarnessFailure("\(program) \(arguments) ended as \(ending): \(process.errors)")
    }
    return output == nil ? process.output : ""
}
