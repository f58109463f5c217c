// SPDX-License-Identifier: Apache-2.0

/// Why a channel could not be opened, or went wrong: what was attempted on what, and what the library or the system
/// said.
package struct ChannelFailure: Error, CustomStringConvertible {
    /// The class of the failure. The command has an exit status for each class.
    package enum Cause: Sendable, Equatable {
        /// The configuration does not fit the machine, the input or the files.
        case configuration
        /// The input cannot be read, or has no frames.
        case inputUnreadable
        /// No output was ever on air, and nothing was recorded.
        case nothingDelivered
        /// An encoder or a decoder failed.
        case internalError
        /// The record directory cannot be written.
        case cannotRecord
        /// The storage guard refused to record, and the channel had no other output.
        case storageRefused
    }

    /// What was attempted, and on what. Addresses are in the form that may be shown.
    package enum Attempt: Sendable, Hashable {
        /// Opening the input at this address.
        case openInput(String)
        /// Opening the separate input of the audio at this address.
        case openAudioInput(String)
        /// Opening the output of this name.
        case openOutput(String)
        /// Reading the certificate and the key of listeners.
        case useCertificate
        /// Opening the encoder of the program, or of another subject such as `the rendition small`.
        case openEncoder(of: String? = nil)
        /// Opening the meter of loudness and silence.
        case measureLoudness
        /// Writing a hash of each frame to this file.
        case writeFrameHashes(String)
        /// Showing the slate.
        case showSlate
        /// Drawing the overlays.
        case showOverlays
        /// Reading the stinger of this name.
        case showStinger(String)
        /// Beginning the run-down.
        case playRunDown
        /// Recording below this directory.
        case record(String)
        /// Recording for clips alone below this directory.
        case takeClip(String)
        /// Making this file.
        case makeFile(String)

        /// The beginning of the sentence about the failed attempt.
        fileprivate var failed: String {
            switch self {
            case .openInput(let address): "The input \(address) cannot be opened"
            case .openAudioInput(let address): "The audio input \(address) cannot be opened"
            case .openOutput(let name): "The output \(name) cannot be opened"
            case .useCertificate: "The certificate cannot be used"
            case .openEncoder(.some(let subject)): "The encoder of \(subject) cannot be opened"
            case .openEncoder(.none): "The encoder cannot be opened"
            case .measureLoudness: "Loudness cannot be measured"
            case .writeFrameHashes: "Hashes of frames cannot be written"
            case .showSlate: "The slate cannot be shown"
            case .showOverlays: "The overlays cannot be shown"
            case .showStinger(let name): "The stinger \(name) cannot be shown"
            case .playRunDown: "The run-down cannot be played"
            case .record: "Recording is not possible"
            case .takeClip: "There is no clip to be taken"
            case .makeFile(let path): "\(path) cannot be made"
            }
        }
    }

    /// The class of the failure.
    package let cause: Cause
    /// What was attempted, and on what.
    package let attempt: Attempt
    /// The error of the library, of the system or of the layer below; nil if relay itself noticed what is wrong.
    package let error: (any Error)?
    /// One sentence for the operator, without secrets. It is shown, and decides nothing.
    package let description: String

    /// The failure of an `attempt`, for a `reason` that ends the sentence about it: the words of `error`, or what relay
    /// itself noticed.
    package init(_ cause: Cause, _ attempt: Attempt, because reason: String, error: (any Error)? = nil) {
        self.init(cause, attempt, saying: "\(attempt.failed): \(reason).", error: error)
    }

    /// The failure of an `attempt` because of `error`, whose words end the sentence about it.
    package init(_ cause: Cause, _ attempt: Attempt, because error: any Error) {
        self.init(cause, attempt, because: "\(error)", error: error)
    }

    /// The failure of an `attempt` because of `error`, whose words are a sentence that already names the attempt.
    package init(_ cause: Cause, _ attempt: Attempt, saidBy error: any Error) {
        self.init(cause, attempt, saying: "\(error)", error: error)
    }

    /// The failure of an `attempt`, about which the operator is told `sentence`.
    package init(_ cause: Cause, _ attempt: Attempt, saying sentence: String, error: (any Error)? = nil) {
        (self.cause, self.attempt, self.error, description) = (cause, attempt, error, sentence)
    }
}

/// How a channel ended.
package enum ChannelEnd: Sendable, Equatable {
    /// The channel finished its work, or ended because it was told to.
    case done
    /// The channel ended early because of an error; the log says why.
    case failed(ChannelFailure.Cause)
}
