// SPDX-License-Identifier: Apache-2.0

/// Why a channel could not be opened, or why it failed later: what relay attempted, and what the library or the system
/// reported.
package struct ChannelFailure: Error, CustomStringConvertible {
    /// The class of the failure. The command `relay` has an exit status for each class.
    package enum Cause: Sendable, Equatable {
        /// The configuration does not fit the machine, the input or the files.
        case configuration
        /// An input, or a file that the program shows, cannot be read, or has not the frames or the audio that are
        /// needed.
        case inputUnreadable
        /// No output was ever on air, and nothing was recorded.
        case nothingDelivered
        /// An encoder, a decoder or a measurement failed, or could not be started.
        case internalError
        /// A file cannot be written, or the disk of the record directory is not mounted or does not answer.
        case cannotRecord
        /// The storage guard, which watches the free disk space, refused to record, and the channel had no outputs or
        /// could not continue without the recording.
        case storageRefused
    }

    /// What relay attempted, with the address, name or path that it used. Addresses contain no secrets.
    package enum Attempt: Sendable, Hashable {
        /// Opening the input at this address.
        case openInput(String)
        /// Opening the separate audio input at this address.
        case openAudioInput(String)
        /// Opening the output with this name.
        case openOutput(String)
        /// Reading the certificate and the key of listeners.
        case useCertificate
        /// Opening an encoder: the program's encoder if the value is nil, otherwise the encoder of the named subject,
        /// such as `the rendition small`.
        case openEncoder(of: String? = nil)
        /// Starting the measurement of loudness and silence.
        case measureLoudness
        /// Writing a hash of each frame to this file.
        case writeFrameHashes(String)
        /// Loading the slate.
        case showSlate
        /// Drawing the overlays.
        case showOverlays
        /// Loading the stinger with this name.
        case showStinger(String)
        /// Starting the run-down.
        case playRunDown
        /// Recording in this directory.
        case record(String)
        /// Recording in this directory only so that clips can be made from the files.
        case takeClip(String)
        /// Creating the file at this path.
        case makeFile(String)

        /// The sentence about the failed attempt, without the reason.
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
    /// What relay attempted, with the address, name or path that it used.
    package let attempt: Attempt
    /// The error of the library, of the system or of another module; nil if relay itself detected the error.
    package let error: (any Error)?
    /// One sentence for the operator, without secrets. It is only shown: no decision depends on it.
    package let description: String

    /// The failure of an `attempt`. `reason` becomes the end of the sentence for the operator. It is the text of
    /// `error`, or it describes a problem that relay itself detected.
    package init(_ cause: Cause, _ attempt: Attempt, because reason: String, error: (any Error)? = nil) {
        self.init(cause, attempt, saying: "\(attempt.failed): \(reason).", error: error)
    }

    /// The failure of an `attempt` because of `error`, whose text becomes the end of the sentence for the operator.
    package init(_ cause: Cause, _ attempt: Attempt, because error: any Error) {
        self.init(cause, attempt, because: "\(error)", error: error)
    }

    /// The failure of an `attempt` because of `error`, whose text is already a complete sentence for the operator.
    package init(_ cause: Cause, _ attempt: Attempt, saidBy error: any Error) {
        self.init(cause, attempt, saying: "\(error)", error: error)
    }

    /// The failure of an `attempt`. `sentence` is the complete sentence for the operator.
    package init(_ cause: Cause, _ attempt: Attempt, saying sentence: String, error: (any Error)? = nil) {
        (self.cause, self.attempt, self.error, description) = (cause, attempt, error, sentence)
    }
}

/// How a channel ended.
package enum ChannelEnd: Sendable, Equatable {
    /// The channel finished its work, or ended because it was told to end.
    case done
    /// The channel failed: it ended early because of an error, or it delivered nothing. The log says why.
    case failed(ChannelFailure.Cause)
}
