// SPDX-License-Identifier: Apache-2.0

/// Decides when to begin each of several connections, of which the first that is established is used (RFC 8305, "happy
/// eyeballs").
///
/// The caller asks ``next(at:)`` what to begin and reports failures to ``failed(at:)``. Times are monotonic
/// nanoseconds.
struct AddressRace {
    /// How long a connection is alone before the next begins (RFC 8305, 5: 250 ms).
    static let staggerNanoseconds: Int64 = 250_000_000

    private let count: Int
    private var started = 0
    private var due: Int64

    /// A race of `count` addresses that begins at `now`.
    init(count: Int, at now: Int64) {
        self.count = count
        due = now
    }

    /// The address whose connection begins now, if one is due.
    mutating func next(at now: Int64) -> Int? {
        guard started < count, now >= due else { return nil }
        defer { started += 1 }
        due = now + Self.staggerNanoseconds
        return started
    }

    /// A connection failed: the next need not wait any longer.
    mutating func failed(at now: Int64) { due = min(due, now) }

    /// When the next connection begins; `nil` if all have begun.
    var nextStart: Int64? { started < count ? due : nil }

    /// `addresses` so that the families take turns, beginning with the first one's (RFC 8305, 4).
    static func interleaved(_ addresses: [HostAddress]) -> [HostAddress] {
        guard let family = addresses.first?.family else { return [] }
        let (first, second) = (addresses.filter { $0.family == family }, addresses.filter { $0.family != family })
        return (0..<max(first.count, second.count)).flatMap { index in
            [first, second].compactMap { index < $0.count ? $0[index] : nil }
        }
    }
}
