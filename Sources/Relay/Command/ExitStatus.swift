// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Media

/// Exit statuses of the process, with the numbers of `sysexits.h`, so that a service manager or a script knows the
/// reason.
enum ExitStatus: Int32 {
    /// Done, or ended by a signal after having done its work.
    case done = 0
    /// `relay recordings`: something is wrong with the recordings, or missing.
    case recordingsIncomplete = 1
    /// A flag or an address is wrong.
    case usage = 64
    /// The input cannot be read, or has no frame.
    case inputUnreadable = 66
    /// No output ever came on air, and nothing was recorded.
    case nothingDelivered = 69
    /// The encoder failed.
    case internalError = 70
    /// The record directory, or the clip of `relay recordings export`, cannot be written.
    case cannotRecord = 73
    /// The storage guard refused, and there was nothing else to do.
    case storageRefused = 75

    /// `relay ctl`: the running relay refused.
    static let refused = ExitStatus.recordingsIncomplete

    var code: ExitCode { ExitCode(rawValue) }
}

extension ExitStatus {
    /// The status for a channel that failed for this cause.
    init(_ cause: ChannelFailure.Cause) {
        self =
            switch cause {
            case .configuration: .usage
            case .inputUnreadable: .inputUnreadable
            case .nothingDelivered: .nothingDelivered
            case .internalError: .internalError
            case .cannotRecord: .cannotRecord
            case .storageRefused: .storageRefused
            }
    }

    /// The status for a channel with this end.
    init(_ end: ChannelEnd) {
        self =
            switch end {
            case .done: .done
            case .failed(let cause): ExitStatus(cause)
            }
    }
}
