// SPDX-License-Identifier: Apache-2.0

/// What the holder of a channel writes into the store in a planned move.
package struct HandoverOffer: Sendable, Equatable, Codable {
    /// The only host that may become the successor; nil if any admitted host may.
    package var to: String?
    /// The number of the first frame that the successor publishes; nil until the successor is ready.
    package var cut: Int64?
    /// The number of the proposal. A proposal with a lower number than an earlier one is an old copy.
    package var round: Int

    /// An offer with these contents.
    package init(to: String? = nil, cut: Int64? = nil, round: Int = 0) {
        (self.to, self.cut, self.round) = (to, cut, round)
    }
}

/// What the successor of a channel writes into the store in a planned move.
package struct HandoverSuccessor: Sendable, Equatable {
    /// How far the successor is.
    package enum State: Sendable, Equatable {
        /// The successor opens inputs, the encoder and the outputs.
        case opening
        /// Everything is open; only publishing has not begun.
        case ready
        /// The successor will begin with a keyframe at this frame, and keeps what it encodes from there.
        case armed(cut: Int64)
    }

    /// The name of the host.
    package var host: String
    /// How far it is.
    package var state: State

    /// A successor with this state.
    package init(host: String, state: State = .opening) { (self.host, self.state) = (host, state) }
}

/// The durations of a planned move.
package struct HandoverTiming: Sendable, Equatable {
    /// How long the holder waits for a successor.
    package var successorWait: Duration = .seconds(20)
    /// How long the successor may take to open everything.
    package var opening: Duration = .seconds(30)
    /// Time from a proposal to the proposed frame. The proposal has to reach the successor through the store, its
    /// encoder has to plan a keyframe, and the answer has to come back.
    package var lead: Duration = .seconds(2)
    /// Without an answer this long before the proposed frame, the holder proposes another frame.
    package var notice: Duration = .milliseconds(500)
    /// The greatest number of proposals.
    package var rounds = 3
    /// How long one side waits beyond the time at which the other one should have acted.
    package var patience: Duration = .seconds(5)
    /// The pause before a request that had no answer is sent again.
    package var retryPause: Duration = .milliseconds(250)
    /// How long the holder keeps the channel before it offers it again after a move that failed.
    package var pauseAfterFailure: Duration = .seconds(10)

    /// The usual durations.
    package init() {}
}

/// Why a planned move ended without a new holder.
package enum HandoverFailure: String, Sendable, Equatable, CaseIterable {
    /// No host became the successor in time.
    case noSuccessor
    /// The successor did not open the channel in time.
    case notReady
    /// The successor did not confirm a frame in time.
    case notArmed
    /// The program did not reach the agreed frame in time.
    case cutNotReached
    /// The successor withdrew, or its lease ended.
    case successorGone
    /// The holder withdrew its offer, or did not act in time.
    case holderGone
    /// The operator withdrew the request.
    case withdrawn
    /// The channel could not be opened.
    case openingFailed
}
