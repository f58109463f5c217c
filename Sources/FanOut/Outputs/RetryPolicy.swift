// SPDX-License-Identifier: Apache-2.0

/// When an output tries again after a failure, and when it uses its backup address.
package struct RetryPolicy: Sendable, Equatable {
    /// How long the output waits between attempts.
    package var backoff: Backoff
    /// The maximum number of consecutive retries before the output gives up; nil for no limit.
    package var attemptLimit: Int?
    /// Whether the output has a backup address.
    package var hasBackup: Bool
    /// After this number of consecutive failures at the primary address, the output uses the backup. A single permanent
    /// refusal is enough as well.
    package var backupAfter: Int
    /// While the output is on air at its backup, it probes the primary address after this interval. The interval
    /// doubles each time the output returns to the primary and soon loses the connection, up to 16 times this value.
    package var primaryInterval: Duration

    /// Creates a policy. With the default values, the output never gives up and has no backup.
    package init(
        backoff: Backoff = Backoff(), attemptLimit: Int? = nil, hasBackup: Bool = false, backupAfter: Int = 3,
        primaryInterval: Duration = .seconds(15)
    ) {
        self.backoff = backoff
        self.attemptLimit = attemptLimit
        self.hasBackup = hasBackup
        self.backupAfter = backupAfter
        self.primaryInterval = primaryInterval
    }
}
