// SPDX-License-Identifier: Apache-2.0

internal import Segmenter

/// Tells whether a recorder has recorded a whole show into its one file.
extension RecorderStatus {
    /// Whether a part of the program is missing in the file, or cannot be recorded at present.
    var isInterrupted: Bool { gapCount > 0 || state == .suspended || state == .failed }

    /// Returns why the file of a finished program does not contain all `frames`; nil if it does.
    func lack(of frames: Int64) -> String? {
        guard gapCount > 0 || Int64(framesWritten) != frames else { return nil }
        guard let reason = gaps.first?.reason ?? suspension else {
            return "\(framesWritten) of \(frames) frames were written"
        }
        let isStorage = gaps.first.map { $0.cause == .storage } ?? true
        return isStorage ? "the disk was full, or could not be written to: \(reason)" : reason
    }
}
