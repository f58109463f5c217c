// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// The buffer that the live sources of one program have in common: what is shown together was captured together as far as
/// the ways to us are alike, and this does not change when a source needs more or less buffer.
///
/// All sources use the largest buffer that any of them needs. A source that needs more than ``most`` has its own
/// buffer, so that one bad line does not delay the others by seconds. Calls may come from any thread.
package final class CommonBuffer: Sendable {
    /// The largest need that counts for the common buffer, in nanoseconds.
    static let most: Int64 = 1_000_000_000

    /// One source's part in it, which ends with it.
    final class Seat: Sendable {
        private let buffer: CommonBuffer
        private let number: Int

        fileprivate init(_ buffer: CommonBuffer, _ number: Int) { (self.buffer, self.number) = (buffer, number) }

        deinit { buffer.set(nil, of: number) }

        /// This source needs so many nanoseconds; nil for one that is not placed.
        func need(_ need: Int64?) { buffer.set(need, of: number) }

        /// The buffer of a source that needs `own`.
        func buffer(for own: Int64) -> Int64 {
            own > CommonBuffer.most ? own : max(own, buffer.greatest)
        }
    }

    private struct State {
        var seats = 0
        var needs: [Int: Int64] = [:]
        var greatest: Int64 = 0
    }

    private let state = Mutex(State())

    /// A buffer that no source needs yet.
    package init() {}

    /// A part for one more source.
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
    /// Whether both are the same one.
    package static func == (left: CommonBuffer, right: CommonBuffer) -> Bool { left === right }

    /// By which one it is.
    package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
