// SPDX-License-Identifier: Apache-2.0

import Archive
import Media
import Synchronization

@testable import Catalogue
@testable import Upload

/// A delivery to a simulated remote. It can succeed or get no answer, and relay can be killed during it.
final class SimulatedDelivery: SegmentDelivery {
    enum Fault: Sendable, Equatable {
        case none
        /// The remote does not answer.
        case away
        /// The remote does not answer before this true time.
        case awayUntil(MonotonicInstant)
        /// Relay is killed before the file has arrived.
        case killedBefore
        /// Relay is killed after the file has arrived, but before relay knows it.
        case killedAfter
    }

    /// A file that the remote has taken.
    struct Arrival: Sendable {
        var name: String
        var bytes: Int64
        /// The checksum of what has arrived; nil if it could not be read.
        var sha256: String?
        var place: String
        /// What the wall clock showed, in milliseconds since 1970.
        var time: Int64
    }

    private struct State {
        var arrivals: [Arrival] = []
        var kill: (@Sendable () -> Void)?
    }

    private let fault: Fault
    /// The number of files that are delivered before the fault.
    private let good: Int
    private let time: SimulatedTime
    private let state = Mutex(State())

    init(_ fault: Fault, after good: Int, time: SimulatedTime) {
        (self.fault, self.good, self.time) = (fault, good, time)
    }

    /// The files that arrived, in order.
    var arrivals: [Arrival] { state.withLock { $0.arrivals } }

    /// Sets the closure that kills relay.
    func killing(by kill: @escaping @Sendable () -> Void) { state.withLock { $0.kill = kill } }

    func deliver(_ segment: CatalogueSegment, at path: String, holding lock: UploadLock) async throws(DeliveryFailure)
        -> Delivered
    {
        let now = time.now
        let arrival = Arrival(
            name: segment.name, bytes: segment.bytes, sha256: try? Checksum.of(path), place: "remote:\(segment.name)",
            time: time.wall.milliseconds)
        let (fault, kill) = state.withLock { [fault, good] state -> (Fault, (@Sendable () -> Void)?) in
            let isGood = fault == .none || state.arrivals.count < good || fault.isOver(at: now)
            if isGood || fault == .killedAfter { state.arrivals.append(arrival) }
            return (isGood ? .none : fault, state.kill)
        }
        switch fault {
        case .none: return Delivered(place: arrival.place, text: "done")
        case .away, .awayUntil: throw DeliveryFailure("the remote is away")
        case .killedBefore, .killedAfter:
            kill?()
            throw DeliveryFailure("killed")
        }
    }
}

extension SimulatedDelivery.Fault {
    /// Whether the remote was away earlier, and answers again at `now`.
    fileprivate func isOver(at now: MonotonicInstant) -> Bool {
        if case .awayUntil(let end) = self { now >= end } else { false }
    }
}
