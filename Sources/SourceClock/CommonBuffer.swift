// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// A buffer that the live sources of one program share. With it, frames that are shown at the same time were captured
/// at the same time, provided that the paths to us have the same delay. This also holds after a source needs more or
/// less buffer.
///
/// All sources use the largest buffer that any of them needs. A source that needs more than ``most`` has its own
/// buffer, so that one bad connection does not delay the others by seconds. Any thread may call it.
package final class CommonBuffer: Sendable {
    /// A source that needs more than this, in nanoseconds, does not enlarge the common buffer.
    static let most: Int64 = 1_000_000_000

    /// One source's membership in the common buffer. It ends when this object is released.
    final class Seat: Sendable {
        private let buffer: CommonBuffer
        private let number: Int

        fileprivate init(_ buffer: CommonBuffer, _ number: Int) { (self.buffer, self.number) = (buffer, number) }

        deinit { buffer.set(nil, of: number) }

        /// Sets the buffer that this source needs, in nanoseconds; nil if the source has no mapping.
        func need(_ need: Int64?) { buffer.set(need, of: number) }

        /// The buffer of a source that itself needs the buffer `own`.
        func buffer(for own: Int64) -> Int64 { own > CommonBuffer.most ? own : max(own, buffer.greatest) }
    }

    private struct State {
        var seats = 0
        var needs: [Int: Int64] = [:]
        var greatest: Int64 = 0
    }

    private let state = Mutex(State())

    /// A buffer that no source needs yet.
    package init() {}

    /// Adds a source.
    func takeSeat() -> Seat {
        let number = state.withLock { state in
            state.seats += 1
            return state.seats
        }
        return Seat(self, number)
    }

    private var greatest: Int64 { state.withLock(\.greatest) }

    private func set(_ need: Int64?, of number: Int) {
        state.withLock { state in
            state.needs[number] = need
            state.greatest = state.needs.values.filter { $0 <= Self.most }.max() ?? 0
        }
    }
}

extension CommonBuffer: Hashable {
    /// Whether both are the same object.
    package static func == (left: CommonBuffer, right: CommonBuffer) -> Bool { left === right }

    /// Hashes the object's identity.
    package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
