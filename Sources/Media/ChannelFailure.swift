// SPDX-License-Identifier: Apache-2.0

/// Why a channel could not be opened, or went wrong.
package struct ChannelFailure: Error, CustomStringConvertible {
    /// The class of the failure. The command has an exit status for each.
    package enum Cause: Sendable, Equatable {
        /// The configuration does not fit the machine, the input or the files.
        case configuration
        /// The input cannot be read, or has no frames.
        case inputUnreadable
        /// No output ever came on air, and nothing was recorded.
        case nothingDelivered
        /// An encoder or a decoder failed.
        case internalError
        /// The record directory cannot be written.
        case cannotRecord
        /// The storage guard refused to record, and the channel had no other output.
        case storageRefused
    }

    /// The kind of trouble.
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
    /// The channel finished its work, or was told to end.
    case done
    /// It broke off; the log says why.
    case failed(ChannelFailure.Cause)
}
