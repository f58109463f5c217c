// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Returns a hash and the time of each coded frame and audio packet of the file at `path`.
func codedPackets(of path: String) async throws -> [String] {
    let directory = try TemporaryDirectory()
    let hashes = directory.file("hashes")
    try await run("ffmpeg", ["-v", "error", "-y", "-nostdin", "-i", path, "-c", "copy", "-f", "framemd5", hashes])
    return try String(contentsOfFile: hashes, encoding: .utf8).split(separator: "\n").map(String.init)
        .filter { !$0.hasPrefix("#") }
}
