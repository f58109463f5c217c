// SPDX-License-Identifier: Apache-2.0

internal import LibAV

/// Why an input cannot be used. The description of each case is one sentence without secrets.
package enum IngestError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The input does not exist, does not answer, or is not media.
    case cannotBeOpened(input: String, reason: String)
    /// The input has neither video nor audio.
    case noMedia(input: String)
    /// The input has no video, where video is needed.
    case noVideo(input: String)
    /// The codec of the input's video or audio cannot be decoded.
    case cannotBeDecoded(input: String, reason: String)
    /// The input's codec or format cannot be passed on without re-encoding.
    case cannotBeCopied(input: String, reason: String)
    /// A library that the input needs is not installed; opening the input again does not help.
    case missingLibrary(input: String, reason: String)
    /// Reading failed after the input was opened.
    case unreadable(input: String, reason: String)
    /// The input delivered no frame or sample before it ended, before it was stopped, or in the time allowed.
    case empty(input: String)
    /// The input cannot be played again from its start.
    case cannotLoop(input: String, reason: String)
    /// An option that was requested does not fit the input.
    case invalidOption(input: String, reason: String)

    package var description: String {
        switch self {
        case .cannotBeOpened(let input, let reason): "The input \(input) cannot be opened: \(reason)."
        case .noMedia(let input): "The input \(input) has neither a video nor an audio stream."
        case .noVideo(let input): "The input \(input) has no video stream."
        case .cannotBeDecoded(let input, let reason), .missingLibrary(let input, let reason):
            "The input \(input) cannot be decoded: \(reason)."
        case .cannotBeCopied(let input, let reason): "The input \(input) cannot be copied: \(reason)."
        case .unreadable(let input, let reason): "The input \(input) cannot be read on: \(reason)."
        case .empty(let input): "The input \(input) delivered not a single frame or sample."
        case .cannotLoop(let input, let reason): "The input \(input) cannot be repeated: \(reason)."
        case .invalidOption(let input, let reason): "The input \(input) cannot be used as asked: \(reason)."
        }
    }

    /// The error of the input named `input`, whose decoder cannot be made, or fails, because of `failure`.
    static func decoding(_ input: String, _ failure: AVFailure) -> IngestError {
        failure.isMissingLibrary
            ? .missingLibrary(input: input, reason: failure.message)
            : .cannotBeDecoded(input: input, reason: failure.message)
    }

    /// Whether opening the input again would always fail with the same error.
    var isPermanent: Bool {
        if case .missingLibrary = self { true } else { false }
    }
}
