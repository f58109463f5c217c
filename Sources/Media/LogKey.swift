// SPDX-License-Identifier: Apache-2.0

/// Metadata keys of log lines that more than one target reads.
package enum LogKey {
    /// The kind of event that a line reports to operators, if none of its other keys shows the kind. The value is an
    /// ``EventKind``, or `status` for a status line, which is not an event. This key is not written to the log.
    package static let event = "event"
}
