// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Two feeds in a cross-fade, and how similar their audio is. The similarity matters for the loudness during the fade:
/// the audio of two cameras in the same room adds up to a louder signal than the audio of two unrelated sources.
struct FadePair {
    /// Two unrelated sources can have a correlation up to this value by chance within one frame. A smaller correlation
    /// is ignored; the change of loudness that it would cause is at most 0.4 dB.
    private static let chance: Float = 0.1

    let coming: SourceFeed
    let going: SourceFeed
    /// Sums over the samples of both feeds since the fade began. `squares` are the sums of each feed's squared samples,
    /// and `products` is the sum of the products of both feeds' samples.
    private var squares = (coming: 0.0, going: 0.0)
    private var products = 0.0
    /// The correlation of the two feeds, from 0 to 1, at the beginning and at the end of the last measured samples.
    private var likeness: (from: Float, to: Float)?

    /// Creates a pair for a fade from `going` to `coming`.
    init(coming: SourceFeed, going: SourceFeed) { (self.coming, self.going) = (coming, going) }

    /// Updates the correlation with the samples that are mixed next.
    mutating func measure(coming one: AudioBuffer, going other: AudioBuffer) {
        for (ones, others) in zip(one.channels, other.channels) {
            var sums: (Float, Float, Float) = (0, 0, 0)
            for index in 0..<min(ones.count, others.count) {
                sums.0 += ones[index] * ones[index]
                sums.1 += others[index] * others[index]
                sums.2 += ones[index] * others[index]
            }
            squares.coming += Double(sums.0)
            squares.going += Double(sums.1)
            products += Double(sums.2)
        }
        let power = (squares.coming * squares.going).squareRoot()
        let correlation = power > 0 ? Float(min(1, products / power)) : 0
        let found = correlation < Self.chance ? 0 : correlation
        likeness = (likeness?.to ?? found, found)
    }

    /// Corrects the levels of both feeds so that the loudness stays constant during the fade. The levels passed in are
    /// those of equal power, which are right for unrelated sources. For identical signals the corrected levels add up
    /// to 1.
    func level(_ coming: inout [Float], _ going: inout [Float]) {
        guard let likeness, likeness.from > 0 || likeness.to > 0 else { return }
        let count = min(coming.count, going.count)
        let step = (likeness.to - likeness.from) / Float(max(1, count))
        for index in 0..<count {
            let alike = likeness.from + step * Float(index + 1)
            let scale = 1 / (1 + 2 * alike * coming[index] * going[index]).squareRoot()
            coming[index] *= scale
            going[index] *= scale
        }
    }
}
