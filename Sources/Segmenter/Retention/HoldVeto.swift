// SPDX-License-Identifier: Apache-2.0

package import Archive

/// Prevents retention from deleting files that an operator has put on hold.
package final class HoldVeto: RetentionVeto {
    private let directory: RecordDirectory

    /// Creates a veto for the recordings in `directory`.
    package init(_ directory: RecordDirectory) { self.directory = directory }

    package func mayDelete(_ fileName: String) -> Bool { !HoldMark.isSet(of: fileName, in: directory) }
}
