// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Media

/// The exit statuses of the process, with the numbers of `sysexits.h`. They tell a service manager or a script why the
/// process ended.
enum ExitStatus: Int32 {
    /// The work is done, or a signal ended it cleanly.
    case done = 0
    /// `relay recordings`: recordings are damaged or missing.
    case recordingsIncomplete = 1
    /// A flag, an address or the configuration file is wrong, or does not fit the input.
    case usage = 64
    /// The input, or a directory of recordings, cannot be read or contains no frame.
    case inputUnreadable = 66
    /// No output was ever on air, and no recording was made. The status also means that another process uses the socket
    /// of the HTTP server, that `relay check` found a failure, or that no relay answers `relay ctl`.
    case nothingDelivered = 69
    /// An encoder or a decoder failed.
    case internalError = 70
    /// The record directory, or the file that a command makes, cannot be written.
    case cannotRecord = 73
    /// The storage guard, which watches the disk, refused to record, and the channel had nothing else to do.
    case storageRefused = 75

    /// `relay ctl`: the running relay refused the request.
    static let refused = ExitStatus.recordingsIncomplete

    var code: ExitCode { ExitCode(rawValue) }
}

extension ExitStatus {
    /// The status for a channel that failed with this cause.
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

    /// The status for a channel that ended in this way.
    init(_ end: ChannelEnd) {
        self =
            switch end {
            case .done: .done
            case .failed(let cause): ExitStatus(cause)
            }
    }
}
