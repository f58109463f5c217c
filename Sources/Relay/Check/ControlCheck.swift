// SPDX-License-Identifier: Apache-2.0

internal import Control
internal import Logging

/// Tests whether the HTTP server of a configuration can listen at its address and its socket, and use its certificate.
struct ControlCheck {
    let settings: ControlSettings

    /// Returns a row for the address and a row for the socket, if the configuration names them. If another process uses
    /// one of them, its row is only a warning, because that process may be the relay that runs this configuration.
    func rows() -> [CheckReport.Row] {
        ControlServer.trial(of: settings, logger: Logger(label: "relay")).map { trial in
            guard let failure = trial.failure else {
                return row(.ok, "the HTTP server can listen at \(trial.place)")
            }
            return row(failure.isInUse ? .warning : .failed, failure.description)
        }
    }

    private func row(_ result: CheckReport.Result, _ text: String) -> CheckReport.Row {
        CheckReport.Row(channel: "-", subject: "http", result: result, text: text)
    }
}
