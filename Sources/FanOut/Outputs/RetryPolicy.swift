// SPDX-License-Identifier: Apache-2.0

/// When an output is retried, and when it uses its backup.
package struct RetryPolicy: Sendable, Equatable {
    /// The waits between attempts.
    package var backoff: Backoff
    /// Maximum number of consecutive retries before the output gives up; `nil` for no limit.
    package var attemptLimit: Int?
    /// Whether there is a backup address.
    package var hasBackup: Bool
    /// Number of consecutive failures at the primary after which the backup is used. A refusal alone is enough.
    package var backupAfter: Int
    /// While the backup is on air: the interval between probes of the primary. It doubles each time that the primary is
    /// lost again soon after the return, up to 16 times the interval.
    package var primaryInterval: Duration

    /// Creates a policy; with the defaults the output never gives up and has no backup.
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
