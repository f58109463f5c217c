// SPDX-License-Identifier: Apache-2.0

internal import Foundation

/// A directory that is deleted when this object is released, at the end of a test.
package final class TemporaryDirectory: Sendable {
    /// The path of the directory.
    package let path: String

    /// Creates an empty directory.
    package init() throws {
        path = FileManager.default.temporaryDirectory.appendingPathComponent("relay-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// The names of the entries in the directory, without hidden ones, sorted.
    package var files: [String] { all.filter { !$0.hasPrefix(".") } }
    /// The names of all entries in the directory, sorted.
    package var all: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted() }
    /// Returns the path of the entry `name`.
    package func path(_ name: String) -> String { "\(path)/\(name)" }

    /// Creates or replaces the file `name`, with `bytes` as its content.
    package func write(_ bytes: some Sequence<UInt8>, to name: String) throws {
        try Data(bytes).write(to: URL(fileURLWithPath: path(name)))
    }

    /// Returns the content of the file `name`.
    package func bytes(_ name: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: URL(fileURLWithPath: path(name))))
    }
}
