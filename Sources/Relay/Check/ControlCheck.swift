// SPDX-License-Identifier: Apache-2.0

internal import Control
internal import Logging

/// Tries where the HTTP server of a configuration is to listen.
struct ControlCheck {
    let settings: ControlSettings

    /// A row for the address and one for the socket, if the configuration names them. What another process holds is a
    /// warning, because that may be the relay that runs this configuration.
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
