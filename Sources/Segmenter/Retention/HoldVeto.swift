// SPDX-License-Identifier: Apache-2.0

public import Archive

/// Keeps retention from what an operator holds.
public final class HoldVeto: RetentionVeto {
    private let directory: RecordDirectory

    /// A veto for the recordings in `directory`.
    public init(_ directory: RecordDirectory) { self.directory = directory }

    public func mayDelete(_ fileName: String) -> Bool { !HoldMark.isSet(of: fileName, in: directory) }
}
