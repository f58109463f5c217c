// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A directory that goes when the test is over.
final class TemporaryDirectory: Sendable {
    let path: String

    init() throws {
        path = FileManager.default.temporaryDirectory.appendingPathComponent("archive-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// The names of what is in it, without hidden ones.
    var files: [String] { all.filter { !$0.hasPrefix(".") } }
    /// The names of all that is in it.
    var all: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted() }
    func path(_ name: String) -> String { "\(path)/\(name)" }
}
