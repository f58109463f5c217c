// SPDX-License-Identifier: Apache-2.0

package import Media

/// Parsers for the encoding options that users write. Each throws one sentence that describes the correct syntax.
package enum EncodingText {
    /// Parses `4M`, `2500k` or `800000`, in bits per second.
    package static func bitrate(_ text: String, in range: ClosedRange<Int>) throws(TextFailure) -> Int {
        let factors: [Character: Int] = ["k": 1000, "m": 1_000_000]
        let factor = text.lowercased().last.flatMap { factors[$0] }
        let digits = factor == nil ? Substring(text) : text.dropLast()
        guard let number = Double(digits), number.isFinite, !digits.contains(where: \.isLetter) else {
            throw TextFailure("Write bits a second as 4M, 2500k or 800000.")
        }
        let bits = number * Double(factor ?? 1)
        guard bits >= Double(range.lowerBound), bits <= Double(range.upperBound) else {
            throw TextFailure("It must be from \(range.lowerBound / 1000)k to \(range.upperBound / 1000)k.")
        }
        return Int(bits.rounded())
    }

    /// Parses `1280x720`.
    package static func size(_ text: String) throws(TextFailure) -> FrameSize {
        let parts = text.lowercased().split(separator: "x", omittingEmptySubsequences: false).map { Int($0) }
        guard parts.count == 2, let width = parts[0], let height = parts[1] else {
            throw TextFailure("Write a size as 1280x720.")
        }
        guard (32...8192).contains(width), (32...8192).contains(height), width % 2 == 0, height % 2 == 0 else {
            throw TextFailure("Both sides must be even and from 32 to 8192.")
        }
        return FrameSize(width: width, height: height)
    }

    /// Parses `30`, `25`, `30000/1001`, or one of the usual decimals `23.976`, `23.98`, `29.97` and `59.94`.
    package static func frameRate(_ text: String) throws(TextFailure) -> FrameRate {
        let decimals = [
            "23.976": (24000, 1001), "23.98": (24000, 1001), "29.97": (30000, 1001), "59.94": (60000, 1001),
        ]
        if let (numerator, denominator) = decimals[text] { return FrameRate(Int32(numerator), Int32(denominator)) }
        let parts = text.split(separator: "/", omittingEmptySubsequences: false).map { Int32($0) }
        guard let first = parts.first, let numerator = first, parts.count <= 2, numerator > 0 else {
            throw TextFailure("Write a frame rate as 30, 25, 29.97 or 30000/1001.")
        }
        guard let denominator = parts.count == 2 ? parts[1] : 1, denominator > 0 else {
            throw TextFailure("Write a frame rate as 30, 25, 29.97 or 30000/1001.")
        }
        let rate = FrameRate(numerator, denominator)
        guard rate.value >= 1, rate.value <= 120 else { throw TextFailure("It must be from 1 to 120.") }
        return rate
    }
}
