// SPDX-License-Identifier: Apache-2.0

/// How long an output keeps trying, and when it uses its backup.
package struct RetryPolicy: Sendable, Equatable {
    /// The waits between attempts.
    package var backoff: Backoff
    /// How often in a row a failed attempt is made again before the output gives up; `nil` for ever.
    package var attemptLimit: Int?
    /// Whether there is a backup address.
    package var hasBackup: Bool
    /// Failed attempts in a row at the primary after which the backup is used. A refusal counts for all of them.
    package var backupAfter: Int
    /// On the backup: the time between two probes of the primary. It doubles, up to sixteenfold, each time
    /// that the primary is lost again soon after the return.
    package var primaryInterval: Duration

    /// A policy of these values; the defaults never give up and know no backup.
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
