// SPDX-License-Identifier: Apache-2.0

/// Why a channel could not be opened, or why it failed later.
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

    /// The class of the failure.
    package let cause: Cause
    /// One sentence for the operator, without secrets.
    package let description: String

    /// A failure of this cause, which `description` explains in a sentence.
    package init(_ cause: Cause, _ description: String) {
        self.cause = cause
        self.description = description
    }
}

/// How a channel ended.
package enum ChannelEnd: Sendable, Equatable {
    /// The channel finished its work, or ended because it was told to.
    case done
    /// The channel ended early because of an error; the log says why.
    case failed(ChannelFailure.Cause)
}
