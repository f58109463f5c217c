// SPDX-License-Identifier: Apache-2.0

/// The files that relay recorded into a directory.
struct RecordingSet {
    let directory: String

    /// The closed files in the order of their names, which is the order of time.
    var finished: [String] { paths(".mp4") }
    /// The files that are being written, or that were being written when the writer was killed.
    var open: [String] { paths(".part") }

    private func paths(_ suffix: String) -> [String] {
        fileNames(in: directory).filter { $0.hasSuffix(suffix) }.map { "\(directory)/\($0)" }
    }

    /// Returns the frames of all closed files, file by file.
    func frames() async throws -> [DecodedFrames] {
        var result: [DecodedFrames] = []
        for path in finished { result.append(try await DecodedFrames(path)) }
        return result
    }

    /// Returns the numbers of all frames in all closed files.
    func counters() async throws -> [UInt32?] { try await frames().flatMap(\.counters) }
}
