// SPDX-License-Identifier: Apache-2.0

/// The channels' reports as Prometheus text, version 0.0.4.
enum MetricsText {
    /// All metrics. `failedLogins` counts wrong tokens.
    static func render(_ reports: [ChannelReport], version: String, failedLogins: Int) -> String {
        """
        # HELP relay_http_failed_logins_total Wrong tokens that were shown.
        # TYPE relay_http_failed_logins_total counter
        relay_http_failed_logins_total \(failedLogins)

        """
    }
}
