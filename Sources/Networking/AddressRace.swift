// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Decides when to start a connection attempt to each of several addresses of a host. The first connection that is
/// established is used (RFC 8305, "happy eyeballs").
///
/// The caller asks ``next(at:)`` which attempt to start, and reports failures to ``failed(at:)``.
struct AddressRace {
    /// How long an attempt runs before the attempt to the next address starts as well (RFC 8305, 5: 250 ms).
    static let stagger = Duration.milliseconds(250)

    private let count: Int
    private var started = 0
    private var due: MonotonicInstant

    /// A race between `count` addresses that starts at `now`.
    init(count: Int, at now: MonotonicInstant) {
        self.count = count
        due = now
    }

    /// The index of the address to connect to now, if an attempt is due.
    mutating func next(at now: MonotonicInstant) -> Int? {
        guard started < count, now >= due else { return nil }
        defer { started += 1 }
        due = now + Self.stagger
        return started
    }

    /// Records that an attempt failed. The next attempt may then start at once.
    mutating func failed(at now: MonotonicInstant) { due = min(due, now) }

    /// When the next attempt starts; `nil` if all attempts have started.
    var nextStart: MonotonicInstant? { started < count ? due : nil }

    /// Returns `addresses` with the two families alternating, beginning with the family of the first address (RFC 8305,
    /// 4).
    static func interleaved(_ addresses: [HostAddress]) -> [HostAddress] {
        guard let family = addresses.first?.family else { return [] }
        let (first, second) = (addresses.filter { $0.family == family }, addresses.filter { $0.family != family })
        return (0..<max(first.count, second.count)).flatMap { index in
            [first, second].compactMap { index < $0.count ? $0[index] : nil }
        }
    }
}
