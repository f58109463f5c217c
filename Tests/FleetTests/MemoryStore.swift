// SPDX-License-Identifier: Apache-2.0

import Fleet
import Media
import Synchronization

/// A store in memory for tests that run in real tasks: the model of the simulation behind ``LeaseStore``. Its time moves
/// only when the test says so.
final class MemoryStore: LeaseStore {
    /// What happens to a request.
    enum Fault {
        case none
        /// The request does not arrive.
        case lost
        /// The request is carried out, and its answer is lost.
        case answerLost
        /// The request is carried out twice, and the second answer arrives.
        case twice
    }

    private struct State {
        var model = ModelStore()
        var now = TrueInstant.zero
        var history: [FleetChange] = []
        var watches: [AsyncStream<[FleetChange]>.Continuation] = []
    }

    let endpoints: Int
    private let state = Mutex(State())
    private let fault: @Sendable (StoreRequest) -> Fault

    init(endpoints: Int = 1, fault: @escaping @Sendable (StoreRequest) -> Fault = { _ in .none }) {
        (self.endpoints, self.fault) = (endpoints, fault)
    }

    func answer(to request: StoreRequest, endpoint: Int, timeout: Duration) async -> StoreAnswer {
        let fault = fault(request)
        if case .lost = fault { return .failed }
        return state.withLock { state in
            var result = state.model.answer(to: request, at: state.now)
            Self.publish(result.changes, in: &state)
            if case .twice = fault {
                result = state.model.answer(to: request, at: state.now)
                Self.publish(result.changes, in: &state)
            }
            if case .answerLost = fault { return .failed }
            return result.answer
        }
    }

    func changes(since revision: Int64, endpoint: Int) -> AsyncStream<[FleetChange]> {
        let (stream, continuation) = AsyncStream.makeStream(of: [FleetChange].self)
        state.withLock { state in
            let first = state.history.filter { $0.revision >= revision }
            if !first.isEmpty { continuation.yield(first) }
            state.watches.append(continuation)
        }
        return stream
    }

    /// Lets time pass, and ends leases.
    func pass(_ duration: Duration) {
        state.withLock { state in
            state.now += duration
            Self.publish(state.model.expire(at: state.now), in: &state)
        }
    }

    /// Ends all watches, as a store does that closes its connections.
    func endWatches() {
        state.withLock { state in
            for watch in state.watches { watch.finish() }
            state.watches = []
        }
    }

    private static func publish(_ changes: [FleetChange], in state: inout State) {
        guard !changes.isEmpty else { return }
        state.history += changes
        for watch in state.watches { watch.yield(changes) }
    }
}
