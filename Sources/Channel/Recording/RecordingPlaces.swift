// SPDX-License-Identifier: Apache-2.0

internal import Logging
internal import Media

/// The places of the recordings that begin with a channel's program, or the reasons why they cannot be used.
struct RecordingPlaces: Sendable {
    /// The record directory.
    let first: Result<RecordingPlace, ChannelFailure>
    /// The second directory; nil without a second directory, and if only clips are recorded.
    let second: Result<RecordingPlace, ChannelFailure>?

    /// Prepares the directories of `recording`, one after the other. Blocks for as long as each takes; see
    /// ``RecordingPlace``.
    init(
        _ recording: ChannelConfiguration.Recording, channel: String, collisions: CollisionCheck, logger: Logger
    ) {
        let place = { (recording: ChannelConfiguration.Recording) in
            Result { () throws(ChannelFailure) in
                // Both recordings have the same remote. Only the first recording asks whether the remote answers.
                try RecordingPlace(
                    recording, channel: channel, asksRemote: recording.beside == nil, collisions: collisions,
                    logger: recording.logger(logger))
            }
        }
        first = place(recording)
        second = recording.isForClips ? nil : recording.second.map(place)
    }

    /// Why the channel must not be opened; nil if it can be. If the second directory can be used, the channel is opened
    /// although the first one cannot, except for an error of the configuration.
    var failure: ChannelFailure? {
        guard case .failure(let failure) = first else { return nil }
        if case .success? = second, failure.cause != .configuration { return nil }
        return failure
    }
}
