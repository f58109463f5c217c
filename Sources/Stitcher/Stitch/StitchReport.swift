// SPDX-License-Identifier: Apache-2.0

/// The result of stitching, as reported to the user.
package struct StitchReport: Sendable, Codable, Equatable {
    /// The path of the file that was made.
    package var output: String
    /// The duration of the file that was made, in milliseconds.
    package var milliseconds: Int64
    package var clips: Int
    /// `copiedFrames` is the number of frames that were copied, `encodedFrames` the number of frames that were
    /// re-encoded.
    package var copiedFrames: Int
    package var encodedFrames: Int
    /// The number of re-encoded frames that come from an earlier run; nil if the request does not resume a run.
    package var resumedFrames: Int?
    /// The damage that decoders found in the files, one sentence for each file.
    package var warnings: [String] = []

    enum CodingKeys: String, CodingKey {
        case output, milliseconds, clips, warnings
        case copiedFrames = "copied_frames"
        case encodedFrames = "encoded_frames"
        case resumedFrames = "resumed_frames"
    }
}
