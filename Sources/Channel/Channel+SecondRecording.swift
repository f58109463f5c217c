// SPDX-License-Identifier: Apache-2.0

internal import Logging
internal import Media
internal import Networking

/// The recording in the second directory. A failure of it is logged and retried, but never affects the program or the
/// recording in the record directory.
extension Channel {
    /// How long the program, or an operator, waits for the disk of the second directory.
    private static let patience = Duration.seconds(10)

    /// Sets up the recording in the second directory of `configuration`, if there is such a directory. If the setup
    /// fails, it is retried in the background. Returns whether the recording is set up.
    @discardableResult
    func prepareSecond(of configuration: ChannelConfiguration.Recording, in places: RecordingPlaces) -> Bool {
        recordings.adopt(secondDirectory: configuration.also)
        guard let second = configuration.second, let place = places.second else { return false }
        do throws(ChannelFailure) {
            recordings.second.prepare(try makeSecond(second, in: place))
            return true
        } catch {
            lackSecond(second, because: error)
            return false
        }
    }

    /// Starts the recording in the second directory of `configuration` while the channel is on air, if there is such a
    /// directory. With `isRetried`, there is a recording in the record directory; if the start fails, it is then retried
    /// in the background, unless that recording was stopped meanwhile. Blocks until the directory has answered, for at
    /// most 10 s. Returns whether the channel is recorded there.
    @discardableResult
    func startSecond(of configuration: ChannelConfiguration.Recording, isRetried: Bool) -> Bool {
        recordings.adopt(secondDirectory: configuration.also)
        guard let second = configuration.second else { return false }
        do {
            try recordings.second.start {
                // A stop of the recordings from now on also stops this start.
                if isRetried, recordings.first.current == nil { throw RecordingSlotError.notRecording }
                return try makeSecond(second)
            }
            return true
        } catch let failure as ChannelFailure {
            if isRetried { lackSecond(second, because: failure) }
            return false
        } catch {
            // There is a recording already, the recordings were stopped, or the program is over.
            return recordings.second.current != nil
        }
    }

    /// Replaces the current recording in a second directory by that of `configuration`, or ends it if there is no
    /// second directory any more. If there is too little space to begin a new recording in the same directory, the
    /// current one continues. If the new recording cannot be started for another reason, the current one ends
    /// nevertheless, because its settings do not apply any more, and the start is retried in the background.
    func replaceSecond(of configuration: ChannelConfiguration.Recording) {
        let isSameDirectory = recordings.adopt(secondDirectory: configuration.also)
        let canContinue = isSameDirectory && recordings.second.current != nil
        do {
            // A recording that an operator is starting has the earlier settings, and does not begin.
            guard let second = configuration.second else { return try recordings.second.stop(stopsStart: true) }
            do {
                try recordings.second.replace(replacesStart: true) { try makeSecond(second, canWait: !canContinue) }
            } catch let failure as ChannelFailure {
                if canContinue, failure.cause == .storageRefused {
                    return logger.warning(
                        "the recording in \(second.directory) continues with its earlier settings: \(failure)")
                }
                // An error means that there is no current recording to stop.
                try? recordings.second.stop(stopsStart: true)
                lackSecond(second, because: failure)
            }
        } catch {
            // There was no recording in a second directory, or the program is over.
        }
    }

    /// Sets up the recording `second`, in `place` if that is prepared already. Without `canWait`, a recording that
    /// would have to wait for disk space is refused. Throws an error if the file system takes longer than 10 s for the
    /// complete setup, which includes the query for free space.
    private func makeSecond(
        _ second: ChannelConfiguration.Recording, in place: Result<RecordingPlace, ChannelFailure>? = nil,
        canWait: Bool = true
    ) throws(ChannelFailure) -> Recording {
        let ask: @Sendable () -> Result<Recording, ChannelFailure> = { [self] in
            Result { () throws(ChannelFailure) in
                guard let place else { return try make(second, patience: nil, canWait: canWait) }
                return try Recording(second, in: place.get(), of: recorded(second))
            }
        }
        guard let answer = Answer.of("relay.prepare", within: Self.patience, ask) else {
            throw ChannelFailure(.cannotRecord, .record(second.directory), because: "its file system does not answer")
        }
        return try answer.get()
    }

    /// After `failure`, schedules further attempts in the background to set up the recording `second`. Does nothing if
    /// there is a recording in the second directory already, or if the program has ended.
    private func lackSecond(_ second: ChannelConfiguration.Recording, because failure: ChannelFailure) {
        let isLacking = recordings.second.lack(
            "\(failure)", remake(second, saying: "the recording in \(second.directory) is possible now"))
        guard isLacking else { return }
        let logger = second.logger(logger)
        logger.warning("the channel is not recorded in \(second.directory), which is tried again: \(failure)")
    }
}
