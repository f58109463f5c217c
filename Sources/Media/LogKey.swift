// SPDX-License-Identifier: Apache-2.0

/// Metadata keys of log lines that more than one target reads.
package enum LogKey {
    /// The kind of event that a line reports to operators, if no other key tells: an ``EventKind``, or `status` for a
    /// status line, which is no event. It is not written to the log.
    package static let event = "event"
}
