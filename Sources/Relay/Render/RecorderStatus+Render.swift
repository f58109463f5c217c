// SPDX-License-Identifier: Apache-2.0

internal import Segmenter

/// Whether a recorder has all of a show, which is one file.
extension RecorderStatus {
    /// Whether some of the program is in no file, or what comes now is in none.
    var isInterrupted: Bool { gapCount > 0 || state == .suspended || state == .failed }

    /// Why not all `frames` of a program that is over are in its file; nil if they are.
    func lack(of frames: Int64) -> String? {
        guard gapCount > 0 || Int64(framesWritten) != frames else { return nil }
        guard let reason = gaps.first?.reason ?? suspension else {
            return "\(framesWritten) of \(frames) frames were written"
        }
        let isStorage = gaps.first.map { $0.cause == .storage } ?? true
        return isStorage ? "the disk was full, or could not be written to: \(reason)" : reason
    }
}
