// SPDX-License-Identifier: Apache-2.0

internal import LibAV

/// Decides how to handle failed reads of an input: damaged data is skipped, unless too many reads in a row are damaged.
struct ReadErrors: Sendable {
    /// How to handle one failed read.
    enum Verdict: Sendable, Hashable {
        /// The source was stopped: do not read again.
        case stop
        /// No data is ready: pause shortly and read again.
        case wait
        /// The data is damaged: continue with the data after it.
        case skip
        /// The input is unreadable: throw an error.
        case fail
    }

    /// Number of damaged reads in a row after which an input counts as unreadable.
    private static let limit = 100

    private var damaged = 0

    /// Decides how to handle `failure` of a read.
    mutating func judge(_ failure: AVFailure) -> Verdict {
        if failure.isInterrupted { return .stop }
        if failure.isWouldBlock { return .wait }
        damaged += 1
        return failure.isInvalidData && damaged < Self.limit ? .skip : .fail
    }

    /// Records that a read succeeded.
    mutating func noteSuccess() { damaged = 0 }
}

/// The result of a read of an input.
enum ReadOutcome {
    /// A packet was read.
    case packet(PacketBox)
    /// No packet was read; read again.
    case nothing
    /// No packet was read and none will follow: the input ended, or its source was stopped.
    case over
    /// The input cannot be read.
    case failed(AVFailure)
}

extension SourceMonitor {
    /// Reads and counts the next packet of `demuxer`, or records damaged data and failures. Blocks as long as the
    /// demuxer does; if the demuxer has no data ready, pauses 5 ms. `isEnding` returns whether the caller has cancelled
    /// the read: a cancelled read looks like a timeout, but is not recorded as a stall of the playlist. If the playlist
    /// was started again, the input ends.
    func read(
        _ demuxer: Demuxer, _ errors: inout ReadErrors, isEnding: () -> Bool = { false }
    ) -> ReadOutcome {
        // Only playlists are watched: other inputs need not measure each read.
        let isPlaylist = demuxer.targetDuration != nil
        if isPlaylist {
            if playlist.isRestarted { return .over }
            playlist.beginRead()
        }
        defer { if isPlaylist { playlist.endRead() } }
        do throws(AVFailure) {
            guard let packet = try demuxer.readPacket() else { return .over }
            errors.noteSuccess()
            note(packet)
            return .packet(packet)
        } catch {
            let verdict = errors.judge(error)
            switch verdict {
            case .stop: return .over
            case .wait: pause(.milliseconds(5))
            case .skip: noteDamage(error)
            case .fail:
                if playlist.isRestarted { return .over }
                noteDamage(error)
                if error.isTimedOut, isPlaylist, !isEnding() { noteStall() }
            }
            return verdict == .fail ? .failed(error) : .nothing
        }
    }
}
