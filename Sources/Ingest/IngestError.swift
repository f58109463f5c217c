// SPDX-License-Identifier: Apache-2.0

/// Why an input cannot be used. Each case says it in one sentence, without secrets.
package enum IngestError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The input does not exist, does not answer, or is no media.
    case cannotBeOpened(input: String, reason: String)
    /// There is neither video nor audio in it.
    case noMedia(input: String)
    /// It has video or audio that cannot be decoded.
    case cannotBeDecoded(input: String, reason: String)
    /// It is coded in a way that cannot be handed on as it is.
    case cannotBeCopied(input: String, reason: String)
    /// What it needs is not installed; opening it again does not help.
    case missingLibrary(input: String, reason: String)
    /// Reading failed on the way.
    case unreadable(input: String, reason: String)
    /// It ended before it gave a single frame or sample, so there is nothing to repeat.
    case empty(input: String)
    /// It cannot be played again from its start.
    case cannotLoop(input: String, reason: String)
    /// What was asked for does not fit the input.
    case invalidOption(input: String, reason: String)

    package var description: String {
        switch self {
        case .cannotBeOpened(let input, let reason): "The input \(input) cannot be opened: \(reason)."
        case .noMedia(let input): "The input \(input) has neither a video nor an audio stream."
        case .cannotBeDecoded(let input, let reason), .missingLibrary(let input, let reason):
            "The input \(input) cannot be decoded: \(reason)."
        case .cannotBeCopied(let input, let reason): "The input \(input) cannot be copied: \(reason)."
        case .unreadable(let input, let reason): "The input \(input) cannot be read on: \(reason)."
        case .empty(let input): "The input \(input) ended without a single frame or sample."
        case .cannotLoop(let input, let reason): "The input \(input) cannot be repeated: \(reason)."
        case .invalidOption(let input, let reason): "The input \(input) cannot be used as asked: \(reason)."
        }
    }

    /// Whether the same happens however often the input is opened again.
    var isPermanent: Bool {
        if case .missingLibrary = self { true } else { false }
    }
}
