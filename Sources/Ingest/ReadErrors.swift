// SPDX-License-Identifier: Apache-2.0

internal import LibAV

/// What to do about the failures of an input's reads: damaged data is skipped until there is too much of it in a row.
struct ReadErrors: Sendable {
    /// What to do about one failure.
    enum Verdict: Sendable, Hashable {
        /// The source was stopped: no more reads.
        case stop
        /// Nothing is ready: wait a little and read again.
        case wait
        /// The data is damaged: read on behind it.
        case skip
        /// The input cannot be read.
        case fail
    }

    /// Damaged reads in a row after which an input is taken to be unreadable.
    private static let limit = 100

    private var damaged = 0

    /// Decides about `failure` of a read.
    mutating func judge(_ failure: AVFailure) -> Verdict {
        if failure.isInterrupted { return .stop }
        if failure.isWouldBlock { return .wait }
        damaged += 1
        return failure.isInvalidData && damaged < Self.limit ? .skip : .fail
    }

    /// A read succeeded.
    mutating func noteSuccess() { damaged = 0 }
}

/// What a read of an input came to.
enum ReadOutcome {
    /// A packet.
    case packet(PacketBox)
    /// Nothing: read again.
    case nothing
    /// Nothing, and nothing will follow: the input ended, or its source was stopped.
    case over
    /// The input cannot be read.
    case failed(AVFailure)
}

extension SourceMonitor {
    /// Reads and counts the next packet of `demuxer`, or counts why no packet came. Blocks, like the demuxer; waits 5
    /// ms if the demuxer has nothing ready. `isEnding` says whether the caller has ended the read, which then ends as
    /// if it had timed out.
    func read(
        _ demuxer: Demuxer, _ errors: inout ReadErrors, isEnding: () -> Bool = { false }
    ) -> ReadOutcome {
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
                noteDamage(error)
                if error.isTimedOut, demuxer.targetDuration != nil, !isEnding() { noteStall() }
            }
            return verdict == .fail ? .failed(error) : .nothing
        }
    }
}
