// SPDX-License-Identifier: Apache-2.0

/// The files that relay recorded into a directory.
struct RecordingSet {
    let directory: String

    /// Closed files in the order of their names, which is that of time.
    var finished: [String] { paths(".mp4") }
    /// Files that are being written, or were when the writer died.
    var open: [String] { paths(".part") }

    private func paths(_ suffix: String) -> [String] {
        fileNames(in: directory).filter { $0.hasSuffix(suffix) }.map { "\(directory)/\($0)" }
    }

    /// The frames of all closed files, one after the other.
    func frames() async throws -> [DecodedFrames] {
        var result: [DecodedFrames] = []
        for path in finished { result.append(try await DecodedFrames(path)) }
        return result
    }

    /// The numbers of all frames in all closed files.
    func counters() async throws -> [UInt32?] { try await frames().flatMap(\.counters) }
}
