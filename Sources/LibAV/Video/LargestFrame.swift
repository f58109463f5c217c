// SPDX-License-Identifier: Apache-2.0

internal import CFFmpeg

/// The largest frame that relay decodes from a stream of another sender. The limit is necessary because a few hundred
/// kilobytes can describe frames that take gigabytes when they are decoded.
package enum LargestFrame {
    /// The maximum number of pixels of a frame: 8192x4352, the largest frame of the levels 6 to 6.2 of H.264 (ITU-T
    /// H.264, table A-1: 139,264 macroblocks) and of HEVC (ITU-T H.265, table A.8).
    package static let pixels: Int64 = 35_651_584
}

extension AVFailure {
    /// The failure of `operation` on `subject`, whose frames have more than `limit` pixels.
    init(operation: String, subject: String, width: Int, height: Int, limit: Int64) {
        self.init(
            operation: operation, subject: subject, code: relay_averror(EFBIG),
            message: "its frames have \(width)x\(height) pixels, which is more than \(limit)")
    }

    /// Throws if a frame of this size has more than `limit` pixels.
    static func check(
        width: Int, height: Int, limit: Int64, _ operation: String, _ subject: String
    ) throws(AVFailure) {
        guard width > 0, height > 0 else { return }
        let (pixels, overflow) = Int64(width).multipliedReportingOverflow(by: Int64(height))
        guard overflow || pixels > limit else { return }
        throw AVFailure(operation: operation, subject: subject, width: width, height: height, limit: limit)
    }
}

extension UnsafeMutablePointer<AVCodecContext> {
    /// Returns `failure`. If the frames have more pixels than this decoder may decode, returns a failure that says so
    /// instead.
    func explained(_ failure: AVFailure) -> AVFailure {
        let (width, height, limit) = (Int(pointee.width), Int(pointee.height), pointee.max_pixels)
        do throws(AVFailure) {
            try AVFailure.check(width: width, height: height, limit: limit, failure.operation, failure.subject)
            return failure
        } catch {
            return error
        }
    }
}
