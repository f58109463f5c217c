// SPDX-License-Identifier: Apache-2.0

/// Why a channel could not be opened, or went wrong.
package struct ChannelFailure: Error, CustomStringConvertible {
    /// What kind of trouble it is. The command has an exit status for each.
    package enum Cause: Sendable, Equatable {
        /// The configuration does not fit what is there.
        case configuration
        /// The input cannot be read, or has no frame.
        case inputUnreadable
        /// No output ever came on air, and nothing was recorded.
        case nothingDelivered
        /// An encoder or a decoder failed.
        case internalError
        /// The record directory cannot be written.
        case cannotRecord
        /// The storage guard refused, and there was nothing else to do.
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
    /// It has done what it was to do, or was told to end.
    case done
    /// It broke off; the log says why.
    case failed(ChannelFailure.Cause)
}
