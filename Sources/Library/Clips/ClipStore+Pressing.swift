// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Catalogue
internal import Dispatch
package import Media
internal import Segmenter
internal import Synchronization

extension ClipStore {
    private static let lookInterval = DispatchTimeInterval.milliseconds(500)

    /// The program time of the newest frame, in seconds; nil if the program is not on air. Returns at once.
    package var newest: Double? { source.newest() }

    /// Begins a clip and returns it, or returns the existing clip with this identifier. If nothing is recorded, begins
    /// a recording that is made only for clips, and throws if that is not possible.
    package func start(_ request: ClipStart) throws(Refusal) -> (clip: RecordedClip, isNew: Bool) {
        try commanding { () throws(Refusal) in
            try loadFirst()
            // A repeated request begins neither a clip nor a recording.
            if let id = request.id, let known = existing(id) { return (known, false) }
            try admit(request.at)
            let now = try beginning()
            let (rate, frames) = (now.program.rate, now.program.frames)
            let newest = request.newest.map { max(frames.lowerBound, Self.frame(at: $0, rate)) }
            let press = ClipMachine.Start(
                id: request.id ?? Self.freshID, at: request.at.map { Self.frame(at: $0, rate) } ?? newest,
                before: rate.timeBase.ticks(.seconds(request.before)))
            let (clip, isNew) = try telling { (state) throws(ClipMachine.Refusal) -> (RecordedClip?, Bool) in
                let isNew = state.machine.clip(press.id) == nil
                let clip = try begin(press, in: now.program, &state)
                if isNew {
                    let start = now.stretch.time(of: rate.start(of: FrameIndex(clip.first)))
                    state.facts[clip.id] = Facts(
                        rate: rate, start: start.milliseconds, name: request.name, pressed: .now)
                    writer.note(state.row(clip.id, channel: archive.channel))
                }
                return (state.shown(clip, [now]), isNew)
            }
            guard let clip else { throw Self.unknown }
            return (clip, isNew)
        }
    }

    /// Ends the clip `id` before the frame at program time `seconds`. Without `seconds`, it ends before the frame at
    /// `newest`, the time of the newest frame when the request arrived. Returns nil if the request to begin the clip
    /// has not arrived yet.
    package func stop(_ id: String, at seconds: Double?, newest: Double?) throws(Refusal) -> RecordedClip? {
        try commanding { () throws(Refusal) in
            try loadFirst()
            let (run, rate) = state.withLock { ($0.machine.clip(id)?.run, $0.facts[id]?.rate) }
            let now: Recorded
            if let run, let rate {
                let all = (try? source.recorded()) ?? []
                guard let recorded = all.first(where: { $0.program.run == run }) else {
                    // If another run of the recorder is under way, `newest` may be a time of another program, whose
                    // times begin again at 0. Then it is not used.
                    return try release(id, at: seconds ?? (all.isEmpty ? newest : nil), rate)
                }
                now = recorded
            } else {
                // The clip is unknown. The request to begin it may arrive later.
                try admit(seconds)
                now = try beginning(isWanted: seconds != nil)
            }
            let frame = (seconds ?? newest).map { Self.frame(at: $0, now.program.rate) }
            return try telling { (state) throws(ClipMachine.Refusal) -> RecordedClip? in
                guard let clip = try state.machine.stop(id, at: frame, in: now.program) else { return nil }
                writer.note(state.row(id, channel: archive.channel))
                return state.shown(clip, [now])
            }
        }
    }

    /// Sets the name of the clip `id`, or removes it if `name` is nil, and returns the clip.
    package func rename(_ id: String, to name: String?) throws(Refusal) -> RecordedClip {
        try loadFirst()
        state.withLock { state in
            guard state.facts[id] != nil else { return }
            state.facts[id]?.name = name
            writer.note(state.row(id, channel: archive.channel))
        }
        return try known(id)
    }

    /// Ends a clip whose recording ended before the request to end the clip arrived. The clip ends at the end of the
    /// recording, or at the frame that the request names.
    private func release(_ id: String, at seconds: Double?, _ rate: FrameRate) throws(Refusal) -> RecordedClip {
        if let seconds {
            state.withLock { state in
                _ = state.machine.release(id, at: Self.frame(at: seconds, rate), rate)
                writer.note(state.row(id, channel: archive.channel))
            }
        }
        return try known(id)
    }

    /// The clip `id`; nil if it does not exist.
    private func existing(_ id: String) -> RecordedClip? {
        let now = (try? source.recorded()) ?? []
        return state.withLock { state in state.machine.clip(id).flatMap { state.shown($0, now) } }
    }

    /// Begins the clip that `press` requests. If the maximum number of clips is stored, the oldest exported clips are
    /// removed.
    private func begin(
        _ press: ClipMachine.Start, in program: ClipMachine.Program, _ state: inout State
    ) throws(ClipMachine.Refusal) -> ClipMachine.Clip {
        do {
            return try state.machine.start(press, in: program)
        } catch {
            guard error == .tooManyClips else { throw error }
            makeRoom(&state)
            return try state.machine.start(press, in: program)
        }
    }

    private func makeRoom(_ state: inout State) {
        let facts = state.facts
        let surplus = state.machine.clips.count - ClipMachine.mostClips + 1
        let exported = state.machine.clips.filter { $0.isComplete && facts[$0.id]?.released != nil }
        let oldest = exported.sorted { (facts[$0.id]?.start ?? 0) < (facts[$1.id]?.start ?? 0) }
        for clip in oldest.prefix(max(0, surplus)) {
            if state.remove(clip.id) { writer.remove(clip.id) }
        }
    }

    /// Throws if `seconds` is so far ahead of the program's newest frame that differences between clocks cannot explain
    /// it. Called before a recording is begun for the request.
    private func admit(_ seconds: Double?) throws(Refusal) {
        guard let seconds, let newest, seconds > newest + ClipMachine.lead.inSeconds + 1 else { return }
        throw Self.ahead
    }

    private static var ahead: Refusal { Refusal(.unusable, "The program is not that far yet.") }

    /// Executes `work`. Until it returns, no recording for clips is ended, because `work` may need that recording.
    private func commanding<Value>(_ work: () throws(Refusal) -> Value) throws(Refusal) -> Value {
        commands.withLock { $0 += 1 }
        defer { commands.withLock { $0 -= 1 } }
        return try work()
    }

    /// Removes the clip `id`, which then no longer protects its files.
    package func remove(_ id: String) throws(Refusal) {
        try loadFirst()
        let isGone = state.withLock { state in
            guard state.remove(id) else { return false }
            writer.remove(id)
            return true
        }
        guard isGone else { throw Self.unknown }
    }

    /// Returns the recording for a clip that begins now. This is the current recording. If nothing is recorded and
    /// `isWanted` is set, it is a new recording that is made only for clips.
    private func beginning(isWanted: Bool = true) throws(Refusal) -> Recorded {
        let recorded = try source.recorded()
        if let now = recorded.first(where: { $0.refusal == nil }) { return now }
        let refusal = recorded.first?.refusal ?? Self.nothingRecorded
        guard isWanted else { throw refusal }
        return try queue.sync {
            Result { () throws(Refusal) in
                // Another command may have begun a recording while this command waited for `queue`.
                if let now = try source.recorded().first(where: { $0.refusal == nil }) { return now }
                try source.begin()
                lookLater()
                guard let now = try source.recorded().first(where: { $0.isForClips && $0.refusal == nil }) else {
                    throw refusal
                }
                return now
            }
        }.get()
    }

    package static var nothingRecorded: Refusal {
        Refusal(.conflict, "Nothing is recorded at the moment, and so no clip can begin.")
    }

    /// Checks periodically whether the recording that was begun only for clips is still needed, and ends it when it is
    /// not.
    private func lookLater() {
        queue.asyncAfter(deadline: .now() + Self.lookInterval) { [self] in
            if goesOn() { lookLater() }
        }
    }

    private func goesOn() -> Bool {
        let now = (try? look()) ?? (try? source.recorded()) ?? []
        let recorded = now.first(where: \.isForClips)
        let goesOn = commands.withLock { commands in
            // While a recording has no first frame, only a command that is still running needs it.
            let isNeeded = recorded.map { recorded in
                state.withLock { $0.machine.needs(recorded.program.run, isRecorded: recorded.refusal == nil) }
            }
            if commands > 0 || isNeeded ?? false { return true }
            source.end()
            return false
        }
        if !goesOn, let run = recorded?.program.run { discardLater(run) }
        return goesOn
    }

    /// The maximum number of attempts to delete the files of a recording that contains no clip. An attempt fails while
    /// the recorder still closes the files, or while they are being uploaded.
    private static let discardLooks = 20

    /// Deletes the files of a recording that was made only for clips but contains no clip, after the recorder has
    /// closed them.
    private func discardLater(_ run: String, looks: Int = discardLooks) {
        queue.asyncAfter(deadline: .now() + Self.lookInterval) { [self] in
            guard looks > 0, !state.withLock({ $0.machine.clips.contains { $0.run == run } }) else { return }
            if (try? archive.discard(run: run)) != true { discardLater(run, looks: looks - 1) }
        }
    }

    /// Returns the number of the frame that is visible a millisecond after `seconds`. A client that gives the time of a
    /// frame in decimals, or in RTMP's milliseconds, may be wrong by that much. A ``RecordedRange`` selects frames by
    /// the same rule.
    static func frame(at seconds: Double, _ rate: FrameRate) -> Int64 {
        Int64(((seconds + 0.001) * rate.value).rounded(.down))
    }

    private static var freshID: String { String(UInt64.random(in: 1 << 60 ... .max), radix: 16) }

    /// Calls `work` with the state, and returns its result. Throws errors of `work` in the form that the API reports.
    private func telling<Value: Sendable>(
        _ work: (inout State) throws(ClipMachine.Refusal) -> Value
    ) throws(Refusal) -> Value {
        do throws(ClipMachine.Refusal) {
            return try state.withLock { (state) throws(ClipMachine.Refusal) in try work(&state) }
        } catch {
            switch error {
            case .tooManyRunning:
                throw Refusal(.tooMany, "\(ClipMachine.mostRunning) clips are running. End one of them.")
            case .tooManyClips:
                throw Refusal(.conflict, "\(ClipMachine.mostClips) clips are kept. Delete some.")
            case .ahead: throw Self.ahead
            case .notRecorded: throw Refusal(.unusable, "Nothing was recorded at that time.")
            }
        }
    }
}
