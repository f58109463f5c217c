// SPDX-License-Identifier: Apache-2.0

/// Keys of log lines' metadata that more than one target reads.
package enum LogKey {
    /// What kind of event a line is to operators, where no other key tells: `storage`, `upload`, `operator`, `marker` or
    /// `status`. It is not written.
    package static let event = "event"
}
