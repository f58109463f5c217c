// SPDX-License-Identifier: Apache-2.0

package import Archive

/// Keeps retention from deleting files that an operator holds.
package final class HoldVeto: RetentionVeto {
    private let directory: RecordDirectory

    /// A veto for the recordings in `directory`.
    package init(_ directory: RecordDirectory) { self.directory = directory }

    package func mayDelete(_ fileName: String) -> Bool { !HoldMark.isSet(of: fileName, in: directory) }
}
