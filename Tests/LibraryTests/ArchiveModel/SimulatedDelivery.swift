// SPDX-License-Identifier: Apache-2.0

import Synchronization

@testable import Catalogue
@testable import Upload

/// A delivery to a simulated remote. It can succeed or get no answer, and relay can be killed during it.
final class SimulatedDelivery: SegmentDelivery {
    enum Fault: Sendable {
        case none
        /// The remote does not answer.
        case away
        /// Relay is killed before the file has arrived.
        case killedBefore
        /// Relay is killed after the file has arrived, but before relay knows it.
        case killedAfter
    }

    private struct State {
        var delivered: [String] = []
        var kill: (@Sendable () -> Void)?
    }

    private let fault: Fault
    /// The number of files that are delivered before the fault.
    private let good: Int
    private let state = Mutex(State())

    init(_ fault: Fault, after good: Int) { (self.fault, self.good) = (fault, good) }

    /// The names of the files that arrived, in order.
    var delivered: [String] { state.withLock { $0.delivered } }

    /// Sets the closure that kills relay.
    func killing(by kill: @escaping @Sendable () -> Void) { state.withLock { $0.kill = kill } }

    func deliver(_ segment: CatalogueSegment, at path: String, holding lock: UploadLock) async throws(DeliveryFailure)
        -> Delivered
    {
        let (fault, kill) = state.withLock { [fault, good] state -> (Fault, (@Sendable () -> Void)?) in
            let isGood = fault == .none || state.delivered.count < good
            if isGood || fault == .killedAfter { state.delivered.append(segment.name) }
            return (isGood ? .none : fault, state.kill)
        }
        switch fault {
        case .none: return Delivered(place: "remote:\(segment.name)", text: "done")
        case .away: throw DeliveryFailure("the remote is away")
        case .killedBefore, .killedAfter:
            kill?()
            throw DeliveryFailure("killed")
        }
    }
}
