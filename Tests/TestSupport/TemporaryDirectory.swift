// SPDX-License-Identifier: Apache-2.0

internal import Foundation

/// A directory that goes when the test is over.
package final class TemporaryDirectory: Sendable {
    /// Its path.
    package let path: String

    /// A new one, empty.
    package init() throws {
        path = FileManager.default.temporaryDirectory.appendingPathComponent("relay-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// The names of what is in it, without hidden ones.
    package var files: [String] { all.filter { !$0.hasPrefix(".") } }
    /// The names of all that is in it.
    package var all: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted() }
    /// The path of `name` in it.
    package func path(_ name: String) -> String { "\(path)/\(name)" }

    /// Makes the file `name` of `bytes`, or replaces it.
    package func write(_ bytes: some Sequence<UInt8>, to name: String) throws {
        try Data(bytes).write(to: URL(fileURLWithPath: path(name)))
    }

    /// The bytes of the file `name`.
    package func bytes(_ name: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: URL(fileURLWithPath: path(name))))
    }
}
