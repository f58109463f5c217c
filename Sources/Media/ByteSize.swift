// SPDX-License-Identifier: Apache-2.0

/// A number of bytes in the form in which people write it: `500MB`, `2GB`, `2GiB`, `1.5 GB`, `4096`.
package struct ByteSize: Sendable, Hashable, Codable, CustomStringConvertible {
    /// The number of bytes, not negative.
    package let bytes: Int64

    /// A size of `bytes` bytes.
    package init(bytes: Int64) { self.bytes = max(0, bytes) }

    private static let units: [(name: String, factor: Int64)] = [
        ("tib", 1 << 40), ("gib", 1 << 30), ("mib", 1 << 20), ("kib", 1 << 10),
        ("tb", 1_000_000_000_000), ("gb", 1_000_000_000), ("mb", 1_000_000), ("kb", 1000), ("b", 1),
    ]

    /// Reads `text`, in which case and spaces do not matter. Decimal units are powers of 1000, binary units (`KiB`…)
    /// are powers of 1024; a number without a unit counts bytes.
    package init(parsing text: String) throws(TextFailure) {
        let lower = text.lowercased().filter { $0 != " " }
        let unit = Self.units.first { lower.hasSuffix($0.name) }
        let digits = lower.dropLast(unit?.name.count ?? 0)
        guard let number = DecimalNumber(digits), let bytes = number.times(unit?.factor ?? 1) else {
            throw TextFailure("\"\(text)\" is not a size; write for example 500MB, 2GB or 2GiB.")
        }
        self.bytes = bytes
    }

    /// The size in the largest decimal unit in which the number is at least 1, with one decimal, rounded down, such as
    /// `3.6 GB`. A size below 1000 bytes is written in bytes, without a decimal.
    package var description: String {
        let units: [(String, Int64)] = [
            ("PB", 1_000_000_000_000_000), ("TB", 1_000_000_000_000), ("GB", 1_000_000_000), ("MB", 1_000_000),
            ("kB", 1000),
        ]
        for (name, factor) in units where bytes >= factor {
            return "\(bytes / factor).\(bytes % factor / (factor / 10)) \(name)"
        }
        return "\(bytes) B"
    }
}

/// An exact decimal number, 0 or more, with up to nine digits after the decimal point.
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
