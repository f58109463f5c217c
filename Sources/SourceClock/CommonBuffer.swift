// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// The length of the buffer that the live sources of one program share. All sources are delayed equally. So frames that
/// are shown at the same time were also captured at the same time, provided that the network paths of the sources have
/// the same delay. This stays true when a source starts to need more or less buffer.
///
/// All sources use the largest buffer that any of them needs. A source that needs more than ``most`` gets a buffer of
/// its own, so that one bad connection does not delay the other sources by seconds. All methods may be called on any
/// thread.
package final class CommonBuffer: Sendable {
    /// The largest common buffer. A source that needs more does not enlarge the common buffer.
    static let most = Duration.seconds(1)

    /// The membership of one source in the common buffer. The membership ends when this object is released.
    final class Seat: Sendable {
        private let buffer: CommonBuffer
        private let number: Int

        fileprivate init(_ buffer: CommonBuffer, _ number: Int) { (self.buffer, self.number) = (buffer, number) }

        deinit { buffer.set(nil, of: number) }

        /// Sets the length of the buffer that this source needs; nil while the source has no mapping to our clock.
        func need(_ need: Duration?) { buffer.set(need, of: number) }

        /// The buffer that a source must use if the source alone would need the buffer `own`.
        func buffer(for own: Duration) -> Duration { own > CommonBuffer.most ? own : max(own, buffer.greatest) }
    }

    private struct State {
        var seats = 0
        var needs: [Int: Duration] = [:]
        var greatest = Duration.zero
    }

    private let state = Mutex(State())

    /// Creates a common buffer without sources.
    package init() {}

    /// Adds a source, and returns its membership.
    func takeSeat() -> Seat {
        let number = state.withLock { state in
            state.seats += 1
            return state.seats
        }
        return Seat(self, number)
    }

    private var greatest: Duration { state.withLock(\.greatest) }

    private func set(_ need: Duration?, of number: Int) {
        state.withLock { state in
            state.needs[number] = need
            state.greatest = state.needs.values.filter { $0 <= Self.most }.max() ?? .zero
        }
    }
}

extension CommonBuffer: Hashable {
    /// Whether both operands are the same object.
    package static func == (left: CommonBuffer, right: CommonBuffer) -> Bool { left === right }

    /// Hashes the object's identity.
    package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
