// SPDX-License-Identifier: Apache-2.0

/// Keys in the metadata of log lines that several modules use.
package enum LogKey {
    /// The kind of event that a log line reports, for a line whose other keys do not show the kind. The value is an
    /// ``EventKind``, or `status` for a status line, which is not an event. The log does not show this key.
    package static let event = "event"
}
