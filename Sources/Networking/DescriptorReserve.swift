// SPDX-License-Identifier: Apache-2.0

package import Media
internal import Synchronization

/// Keeps some of the process's descriptors free for media. While fewer descriptors are free, servers accept no
/// connections. Otherwise idle clients could take the descriptors that the recorder needs for its next file, and that
/// outputs need for their next connection.
///
/// Any thread may use it.
package final class DescriptorReserve: Sendable {
    /// A number of outputs, and the number of descriptors that they need.
    private struct Need {
        var outputs = 0
        var descriptors = 0
    }

    private struct State {
        /// The number of descriptors that the process may have; 0 before it is known.
        var limit = 0
        /// The number of outputs in the configuration, and of the descriptors that the whole process needs for them
        /// (``DescriptorLimit/needed(_:)``).
        var configured = Need()
        /// The number of outputs that exist now, and of the descriptors that these outputs alone need.
        var counted = Need()
        /// The number of free descriptors at the last count, less the connections that were accepted since then.
        var free = Int.max
        /// The time of the last count; nil before the first count.
        var measured: MonotonicInstant?
        var pauses: UInt64 = 0
        var nextReport = MonotonicInstant.distantPast

        /// The number of descriptors that are kept free for inputs, recorders and outputs. Outputs of the configuration
        /// count even before they exist.
        var kept: Int {
            let needed = max(configured.descriptors, DescriptorLimit.needed(counted.descriptors))
            let outputs = max(configured.outputs, counted.outputs)
            return min(
                max(0, limit - needed) / 2, DescriptorReserve.base + DescriptorReserve.perOutput * outputs)
        }
    }

    /// An object that an output retains as long as it exists, so that the reserve counts the output.
    private final class Registration: Sendable {
        private let reserve: DescriptorReserve
        private let descriptors: Int

        init(_ descriptors: Int, in reserve: DescriptorReserve) {
            (self.descriptors, self.reserve) = (descriptors, reserve)
            reserve.add(1, descriptors)
        }

        deinit { reserve.add(-1, -descriptors) }
    }

    /// The reserve of this process. It keeps nothing until ``keep(forOutputs:needing:of:)`` is called.
    package static let shared = DescriptorReserve()

    /// How often the free descriptors are counted while connections are accepted.
    static let interval = Duration.seconds(1)
    private static let reportInterval = Duration.seconds(60)
    /// `base` descriptors are kept free for inputs, recorders, uploads and the log, and `perOutput` descriptors for
    /// each output, because an output may have an old and a new connection at the same time.
    private static let (base, perOutput) = (64, 8)

    private let clock: any MonotonicClock
    private let measure: @Sendable () -> Int?
    private let state = Mutex(State())

    /// Creates a reserve that keeps nothing yet. `measure` returns the number of free descriptors; while it returns
    /// nil, the number is unknown, and connections are accepted.
    package init(
        clock: any MonotonicClock = SystemClock(), measure: @escaping @Sendable () -> Int? = { DescriptorLimit.free }
    ) {
        self.clock = clock
        self.measure = measure
    }

    /// Keeps descriptors free for `outputs` outputs, or for the outputs that are counted now (``count(_:)``) if there
    /// are more of these. `limit` is the number of descriptors that the process may have, and `needed` is the number
    /// that it needs for these outputs (``DescriptorLimit/needed(_:)``). At most half of the difference between `limit`
    /// and `needed` is kept free. Otherwise a server would never accept a connection once all outputs are on air.
    package func keep(forOutputs outputs: Int, needing needed: Int, of limit: Int) {
        state.withLock { state in
            state.limit = limit
            state.configured = Need(outputs: outputs, descriptors: needed)
        }
    }

    /// Counts an output that needs `descriptors` descriptors, until the returned object is released.
    package func count(_ descriptors: Int) -> any Sendable { Registration(descriptors, in: self) }

    private func add(_ outputs: Int, _ descriptors: Int) {
        state.withLock { state in
            state.counted.outputs += outputs
            state.counted.descriptors += descriptors
        }
    }

    /// How many times a server stopped accepting connections.
    package var pauses: UInt64 { state.withLock { $0.pauses } }

    /// Whether a server may accept a connection now. Counts the descriptors at most once a second.
    func admits() -> Bool {
        let now = clock.now
        let isDue = state.withLock { state in
            guard state.measured.map({ now - $0 >= Self.interval }) ?? true else { return false }
            state.measured = now
            return true
        }
        if isDue {
            let free = measure() ?? Int.max
            state.withLock { $0.free = free }
        }
        return state.withLock { $0.free > $0.kept }
    }

    /// Records that a server accepted a connection.
    func accepted() { state.withLock { $0.free -= 1 } }

    /// Counts that a server stops accepting connections. Returns a sentence for the log, at most once a minute.
    func pause() -> String? {
        let now = clock.now
        return state.withLock { state in
            state.pauses += 1
            guard now >= state.nextReport else { return nil }
            state.nextReport = now + Self.reportInterval
            return "no connections are accepted while only \(max(0, state.free)) more files can be opened: "
                + "\(state.kept) are kept for media; raise the hard limit (ulimit -Hn, or LimitNOFILE= of the service)"
        }
    }
}
