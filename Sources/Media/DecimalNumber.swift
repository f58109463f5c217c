// SPDX-License-Identifier: Apache-2.0

/// An exact decimal number with up to nine digits after the decimal point.
package struct DecimalNumber {
    private let whole: Int64
    private let billionths: Int64

    package init?(_ text: some StringProtocol) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), let whole = Self.digits(parts[0]) else { return nil }
        self.whole = whole
        guard parts.count == 2 else {
            billionths = 0
            return
        }
        let fraction = parts[1]
        guard (1...9).contains(fraction.utf8.count), let value = Self.digits(fraction) else { return nil }
        billionths = (fraction.utf8.count..<9).reduce(value) { product, _ in product * 10 }
    }

    private static func digits(_ text: some StringProtocol) -> Int64? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
        return Int64(text)
    }

    /// The product with `factor`, rounded down; nil if it does not fit in 64 bits.
    package func times(_ factor: Int64) -> Int64? {
        let product = Int128(whole) * Int128(factor) + Int128(billionths) * Int128(factor) / 1_000_000_000
        return Int64(exactly: product)
    }
}
