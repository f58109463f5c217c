// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The programs that the tests need.
enum Tools {
    /// The package's directory.
    static let package = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().path

    /// Returns the relay under test: `RELAY_EXECUTABLE`, or else the package's release build, or else its debug build.
    static func relay() throws -> String {
        let named = ProcessInfo.processInfo.environment["RELAY_EXECUTABLE"]
        let candidates =
            named.map { [$0] } ?? ["release", "debug"].map { "\(package)/.build/\($0)/relay" }
        guard let path = candidates.first(where: FileManager.default.isExecutableFile(atPath:)) else {
            throw HarnessFailure(
                "There is no relay to test at \(candidates.joined(separator: " or ")): run swift build, "
                    + "or name it by RELAY_EXECUTABLE.")
        }
        return path
    }

    /// Returns the path of a program. A test without its peer program fails, because it would show nothing.
    static func path(of program: String) throws -> String {
        if program.contains("/") { return program }
        let named = ProcessInfo.processInfo.environment["PATH"] ?? ""
        let search = named.split(separator: ":").map(String.init) + ["/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin"]
        let found = search.map { "\($0)/\(program)" }.first(where: FileManager.default.isExecutableFile(atPath:))
        guard let found else {
            throw HarnessFailure("The end-to-end tests need \(program), which is not installed: see scripts/test.")
        }
        return found
    }
}
