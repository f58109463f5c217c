// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Catalogue
internal import Control
internal import Dispatch
internal import Media
internal import Segmenter
internal import Synchronization

extension ClipBook {
    private static let lookInterval = DispatchTimeInterval.milliseconds(500)

    func start(_ request: ClipStart) throws(ControlFailure) -> (clip: RecordedClip, isNew: Bool) {
        try gate.withLock { (_) throws(ControlFailure) in
            // Before the catalogue is read: a press is meant for now.
            let now = try beginning()
            try load()
            let rate = now.program.rate
            let press = ClipMachine.Start(
                id: request.id ?? Self.freshID, at: request.at.map { Self.frame(at: $0, rate) },
                before: rate.timeBase.ticks(.seconds(request.before)))
            let (clip, isNew) = try telling { (state) throws(ClipMachine.Refusal) -> (RecordedClip?, Bool) in
                let isNew = state.machine.clip(press.id) == nil
                let clip = try state.machine.start(press, in: now.program)
                if isNew {
                    let start = now.stretch.time(of: rate.timeBase.rescale(clip.first, to: .nanoseconds))
                    state.details[clip.id] = Details(rate: rate, start: start.milliseconds, name: request.name)
                    writer.note(state.row(clip.id, channel: archive.channel))
                }
                return (state.shown(clip, [now]), isNew)
            }
            guard let clip else { throw Self.unknown }
            return (clip, isNew)
        }
    }

    func stop(_ id: String, at seconds: Double?) throws(ControlFailure) -> RecordedClip? {
        try gate.withLock { (_) throws(ControlFailure) in
            try load()
            let run = state.withLock { $0.machine.clip(id)?.run }
            let now: Recorded
            if let run {
                guard let recorded = (try? source.recorded())?.first(where: { $0.program.run == run }) else {
                    // The recording ended before: so did the clip.
                    return try clip(id)
                }
                now = recorded
            } else {
                // Its press may be under way.
                now = try beginning(isWanted: seconds != nil)
            }
            let frame = seconds.map { Self.frame(at: $0, now.program.rate) }
            return try telling { (state) throws(ClipMachine.Refusal) -> RecordedClip? in
                guard let clip = try state.machine.stop(id, at: frame, in: now.program) else { return nil }
                writer.note(state.row(id, channel: archive.channel))
                return state.shown(clip, [now])
            }
        }
    }

    func rename(_ id: String, to name: String?) throws(ControlFailure) -> RecordedClip {
        try load()
        state.withLock { state in
            guard state.details[id] != nil else { return }
            state.details[id]?.name = name
            writer.note(state.row(id, channel: archive.channel))
        }
        return try clip(id)
    }

    func remove(_ id: String) throws(ControlFailure) {
        try load()
        let isGone = state.withLock { state in
            state.details[id] = nil
            guard state.machine.remove(id) != nil else { return false }
            writer.remove(id)
            return true
        }
        guard isGone else { throw Self.unknown }
    }

    /// What a clip that begins now is a part of: what is recorded, or else what is recorded for it alone from now on, if it
    /// `isWanted`.
    private func beginning(isWanted: Bool = true) throws(ControlFailure) -> Recorded {
        let recorded = try source.recorded()
        if let now = recorded.first(where: { $0.refusal == nil }) { return now }
        let refusal = recorded.first?.refusal ?? Self.nothingRecorded
        guard isWanted else { throw refusal }
        // What begins may make the catalogue, which nobody can read meanwhile.
        try load()
        try source.begin()
        lookLater()
        guard let now = try source.recorded().first(where: { $0.isForClips && $0.refusal == nil }) else {
            throw refusal
        }
        return now
    }

    static var nothingRecorded: ControlFailure {
        ControlFailure(.conflict, "Nothing is recorded at the moment, and so no clip can begin.")
    }

    /// Looks again and again whether what is recorded for clips alone is still needed, and ends it when it is not.
    private func lookLater() {
        queue.asyncAfter(deadline: .now() + Self.lookInterval) { [self] in
            if gate.withLock({ _ in goesOn() }) { lookLater() }
        }
    }

    private func goesOn() -> Bool {
        let now = (try? look()) ?? (try? source.recorded()) ?? []
        guard let recorded = now.first(where: \.isForClips) else {
            // It may still be without its first frame.
            source.end()
            return false
        }
        let isNeeded = state.withLock {
            $0.machine.needs(recorded.program.run, isRecorded: recorded.refusal == nil)
        }
        if !isNeeded { source.end() }
        return isNeeded
    }

    /// The frame that is seen at `seconds`. A little later than that, for who says the time of a frame in decimals.
    private static func frame(at seconds: Double, _ rate: FrameRate) -> Int64 {
        Int64((seconds * rate.value + 0.02).rounded(.down))
    }

    private static var freshID: String { String(UInt64.random(in: 1 << 60 ... .max), radix: 16) }

    /// What `work` makes of the state; its refusal as the API tells it.
    private func telling<Value: Sendable>(
        _ work: (inout State) throws(ClipMachine.Refusal) -> Value
    ) throws(ControlFailure) -> Value {
        do throws(ClipMachine.Refusal) {
            return try state.withLock { (state) throws(ClipMachine.Refusal) in try work(&state) }
        } catch {
            switch error {
            case .tooManyRunning:
                throw ControlFailure(.tooMany, "\(ClipMachine.mostRunning) clips are running. End one of them.")
            case .tooManyClips:
                throw ControlFailure(.conflict, "\(ClipMachine.mostClips) clips are kept. Delete some.")
            case .ahead: throw ControlFailure(.unusable, "The program is not that far yet.")
            case .notRecorded: throw ControlFailure(.unusable, "Nothing was recorded at that time.")
            }
        }
    }
}
