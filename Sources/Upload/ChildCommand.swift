// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Subprocess
internal import SystemPackage

/// Runs a program until it ends, at low priority and with a time limit.
package struct ChildCommand: Sendable {
    /// How a run of the program ended, and what the program wrote.
    package struct Outcome: Sendable {
        /// Whether the program exited with status 0.
        package var isSuccess: Bool
        /// The exit status; nil if a signal ended the program.
        package var status: Int32?
        /// How the program ended, in words.
        package var ending: String
        /// The last 16 KiB of the program's standard output.
        package var output: String
        /// The last 16 KiB of the program's standard error.
        package var errors: String
    }

    /// The program, by its absolute path.
    var program: String
    var arguments: [String]
    /// Environment variables for the program, in addition to those of this process.
    var environment: [String: String] = [:]
    /// How long the program may run before it is ended.
    var limit: Duration

    /// How many bytes are kept of a program's standard output, and also of its standard error. These are the last
    /// bytes.
    private static let mostBytes = 16 << 10
    /// How long a program may take to end after SIGTERM before it gets SIGKILL; rclone takes up to a second.
    private static let grace = Duration.seconds(1)

    /// Creates a command that runs `program`, which is an absolute path, for at most `limit`.
    package init(program: String, arguments: [String], environment: [String: String] = [:], limit: Duration) {
        self.program = program
        self.arguments = arguments
        self.environment = environment
        self.limit = limit
    }

    /// Whether there is an executable program at `path`.
    package static func canRun(_ path: String) -> Bool {
        var info = stat()
        return stat(path, &info) == 0 && info.st_mode & S_IFMT == S_IFREG && access(path, X_OK) == 0
    }

    /// Returns `path` as an absolute path.
    package static func absolute(_ path: String) -> String { AbsolutePath.of(path) }

    /// Runs the program without input. Cancelling the task ends the program.
    package func run() async throws(DeliveryFailure) -> Outcome {
        let input: FileDescriptor
        do {
            input = try FileDescriptor.open("/dev/null", .readOnly, options: .closeOnExec)
        } catch {
            throw DeliveryFailure("\(program) cannot be run: \(error)")
        }
        defer { try? input.close() }
        return try await run(input: input)
    }

    /// Runs the program with `input` as its standard input. Cancelling the task ends the program.
    func run(input: FileDescriptor) async throws(DeliveryFailure) -> Outcome {
        do {
            return try await withThrowingTaskGroup(of: Outcome?.self) { group in
                group.addTask { try await execute(input) }
                group.addTask {
                    try await Task.sleep(for: limit)
                    return nil
                }
                defer { group.cancelAll() }
                // The first task to end decides: the program, or the time limit.
                guard let first = try await group.next(), let outcome = first else {
                    throw DeliveryFailure("it took longer than \(limit.components.seconds) s and was ended")
                }
                return outcome
            }
        } catch let failure as DeliveryFailure {
            throw failure
        } catch is CancellationError {
            throw DeliveryFailure("it was ended")
        } catch {
            throw DeliveryFailure("\(program) cannot be run: \(error)")
        }
    }

    private func execute(_ input: FileDescriptor) async throws -> Outcome {
        var options = PlatformOptions()
        // The program gets its own process group. Ctrl-C then reaches only relay. When relay ends the program, it also
        // ends the processes that the program started.
        options.processGroupID = 0
        options.teardownSequence = [
            .send(signal: .terminate, toProcessGroup: true, allowedDurationToNextStep: Self.grace)
        ]
        let additions = environment.map { (Environment.Key(stringLiteral: $0.key), Optional($0.value)) }
        let result = try await Subprocess.run(
            // The priority is low, because media is more important than uploads.
            .name("nice"), arguments: Arguments(["-n", "10", program] + arguments),
            environment: .inherit.updating(Dictionary(uniqueKeysWithValues: additions)), platformOptions: options,
            input: .fileDescriptor(input, closeAfterSpawningProcess: false), output: .sequence, error: .sequence
        ) { execution in
            async let errors = Self.tail(of: execution.standardError)
            let output = try await Self.tail(of: execution.standardOutput)
            return (output, try await errors)
        }
        try Task.checkCancellation()
        let (output, errors) = result.closureResult
        return Outcome(
            isSuccess: result.terminationStatus.isSuccess, status: Self.status(result.terminationStatus),
            ending: Self.text(result.terminationStatus), output: output, errors: errors)
    }

    private static func tail(of stream: SubprocessOutputSequence) async throws -> String {
        var bytes: [UInt8] = []
        for try await buffer in stream {
            buffer.withUnsafeBytes { bytes.append(contentsOf: $0) }
            if bytes.count > mostBytes { bytes.removeFirst(bytes.count - mostBytes) }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func status(_ status: TerminationStatus) -> Int32? {
        guard case .exited(let code) = status else { return nil }
        return code
    }

    private static func text(_ status: TerminationStatus) -> String {
        switch status {
        case .exited(let code): "ended with status \(code)"
        case .signaled(let signal): "was ended by signal \(signal)"
        }
    }
}
