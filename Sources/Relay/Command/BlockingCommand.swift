// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Foundation
internal import Networking

/// A command that blocks. It runs on a thread of its own, so that it does not occupy a thread of Swift's cooperative
/// pool, which has only one thread for each core.
protocol BlockingCommand: AsyncParsableCommand, Sendable {
    /// Does all the work of the command, on a thread that may block. Throws an exit code, or an error for the parser to
    /// print.
    func work() throws
    /// Throws an error if the arguments are invalid. Called before any work is done.
    func check() throws
}

extension BlockingCommand {
    func check() throws {}

    func validate() throws { try ArgumentParsing.usage(check) }

    func run() async throws {
        let result: Result<Void, any Error> = await withCheckedContinuation { continuation in
            MediaThread.start("relay.\(Self._commandName)") {
                continuation.resume(returning: Result { try work() })
            }
        }
        try ArgumentParsing.usage { try result.get() }
    }
}
