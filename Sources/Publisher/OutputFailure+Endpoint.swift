// SPDX-License-Identifier: Apache-2.0

internal import FanOut
internal import Networking

extension OutputFailure {
    /// What an endpoint's failure means for the output.
    init(_ failure: EndpointFailure) {
        let kind: Kind =
            switch failure.kind {
            case .unreachable: .unreachable
            case .lost: .lost
            case .rejected: .rejected
            case .refused: .refused
            }
        self.init(kind, step: failure.step, reason: failure.reason)
    }
}
