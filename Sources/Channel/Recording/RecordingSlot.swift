// SPDX-License-Identifier: Apache-2.0

package import Dispatch
package import FanOut
internal import Segmenter
internal import Status
internal import Synchronization
package import Upload

/// The reason why a recording was not started or stopped.
package enum RecordingSlotError: Error, Equatable, CustomStringConvertible {
    /// The slot has a recording already, or a recording is being started.
    case alreadyRecording
    /// The slot has no recording.
    case notRecording
    /// The program has ended.
    case over

    package var description: String {
        switch self {
        case .alreadyRecording: "The channel is being recorded already; stop that recording first."
        case .notRecording: "The channel is not being recorded."
        case .over: "The program is over."
        }
    }
}

/// Holds a channel's recording in one directory. There is at most one such recording at a time, which can be started
/// and stopped while the channel is on air.
///
/// After a recording was stopped, it can still close its file and upload while the next recording runs. All calls may
/// be made on any thread.
package final class RecordingSlot: Sendable {
    /// A recording that is wanted but could not be set up: the reason, and the closure that sets the recording up.
    private final class Lack: Sendable {
        let reason: String
        let make: @Sendable () throws -> Recording
        /// Runs the retries. Each missing recording has a queue of its own, because a retry can block on a disk that
        /// does not answer, while the next recording is wanted on another disk.
        let queue = DispatchQueue(label: "relay.recording", qos: .utility)

        init(_ reason: String, _ make: @escaping @Sendable () throws -> Recording) {
            (self.reason, self.make) = (reason, make)
        }
    }

    private enum Phase {
        /// No recording is wanted.
        case idle
        /// A recording is wanted but could not be set up; setting it up is retried every 10 s.
        case lacking(Lack)
        /// The recording was set up and passed to ``prepare(_:)``. It receives no packets yet.
        case prepared(Recording)
        /// A recording is being set up while the program runs, by the start with this number.
        case starting(Int)
        case recording(Recording)
        case over
    }

    private struct State {
        var phase = Phase.idle
        /// The number of starts so far.
        var starts = 0
        /// Recordings that were stopped and have not finished their work.
        var ending: [Recording] = []
        /// The status of the recording that ended last.
        var last = RecordingStatus()
        var hasRecorded = false

        /// Throws if the start `number` must not change anything any more, because it was stopped or replaced, or
        /// because the program has ended.
        func check(start number: Int) throws(RecordingSlotError) {
            switch phase {
            case .starting(number): break
            case .starting, .prepared, .recording: throw .alreadyRecording
            case .idle, .lacking: throw .notRecording
            case .over: throw .over
            }
        }
    }

    /// The pause between two attempts to set up a recording.
    private static let pause = DispatchTimeInterval.seconds(10)

    private let hub: PacketStream
    private let group: DispatchGroup
    private let state = Mutex(State())

    /// Creates a slot. Its recordings get their packets from `hub`, unless a recording has a stream of its own. `group`
    /// is left when all work that the recordings began is done.
    package init(hub: PacketStream, group: DispatchGroup) {
        self.hub = hub
        self.group = group
    }

    /// Stores the recording that begins with the program, at ``begin()``.
    func prepare(_ recording: Recording) { state.withLock { $0.phase = .prepared(recording) } }

    /// Starts the prepared recording, because the program begins. Returns at once.
    func begin() {
        state.withLock { state in
            guard case .prepared(let recording) = state.phase else { return }
            state.phase = .recording(recording)
            recording.start(at: stream(of: recording), .program, in: group)
        }
    }

    /// Starts the recording that `make` sets up, while the program runs. Its first file begins at `beginning`; by
    /// default this is the next keyframe, which is requested. Blocks as long as `make` does. Throws the errors of
    /// `make`, or ``RecordingSlotError``.
    func start(_ beginning: Recording.Beginning = .nextKeyframe, _ make: () throws -> Recording) throws {
        let (number, lack) = try state.withLock { state -> (Int, Lack?) in
            let lack: Lack? = if case .lacking(let lack) = state.phase { lack } else { nil }
            switch state.phase {
            case .idle, .lacking: break
            case .prepared, .starting, .recording: throw RecordingSlotError.alreadyRecording
            case .over: throw RecordingSlotError.over
            }
            state.starts += 1
            state.phase = .starting(state.starts)
            return (state.starts, lack)
        }
        let recording: Recording
        do {
            recording = try make()
        } catch {
            // If a recording was to be retried before, this failed start continues its retries. The phase changes in
            // one step. Otherwise a start on another thread could read the phase in between, and would not find the
            // recording that is to be retried.
            let next = lack.map { Lack("\(error)", $0.make) }
            let isLacking = try state.withLock { state -> Bool in
                if case .over = state.phase { return false }
                try state.check(start: number)
                state.phase = next.map { .lacking($0) } ?? .idle
                return next != nil
            }
            if isLacking, let next { retryLater(next) }
            throw error
        }
        try state.withLock { state in
            try state.check(start: number)
            state.phase = .recording(recording)
            recording.start(at: stream(of: recording), beginning, in: group)
        }
    }

    /// Replaces the current recording by the one that `make` sets up. The old recording closes its file and ends its
    /// work in the background. The first file of the new recording begins with the next keyframe, which is requested.
    /// Blocks as long as `make` does. Throws the errors of `make`, in which case nothing changes, or
    /// ``RecordingSlotError``. With `replacesStart`, also takes the place of a recording that is being set up.
    func replace(replacesStart: Bool = false, _ make: () throws -> Recording) throws {
        let recording = try make()
        try state.withLock { (state) throws(RecordingSlotError) in
            switch state.phase {
            case .over: throw .over
            case .starting where !replacesStart: throw .alreadyRecording
            case .prepared: return state.phase = .prepared(recording)
            case .idle, .lacking, .starting: break
            case .recording(let old):
                end(old, &state)
                // The old recording is finished before the next one starts. Otherwise both would take the same packets
                // of a source out of that source's buffer.
                finish(old)
            }
            state.phase = .recording(recording)
            recording.start(at: stream(of: recording), .nextKeyframe, in: group)
        }
    }

    /// Stops the recording, which closes its file and ends its work in the background. With `stopsStart`, a recording
    /// that is being set up does not begin either. Returns at once.
    func stop(stopsStart: Bool = false) throws(RecordingSlotError) {
        let recording = try state.withLock { (state) throws(RecordingSlotError) -> Recording? in
            switch state.phase {
            case .prepared, .lacking:
                state.phase = .idle
                return nil
            case .recording(let recording):
                state.phase = .idle
                end(recording, &state)
                return recording
            case .starting where stopsStart:
                state.phase = .idle
                return nil
            case .idle, .starting, .over: throw .notRecording
            }
        }
        if let recording { finish(recording) }
    }

    /// Shows `reason` as the error of the missing recording, and calls `make` repeatedly until it sets the recording
    /// up, or until a recording is started or stopped. Returns at once. Returns false, and does nothing, if there is a
    /// recording already or the program has ended.
    @discardableResult
    func lack(_ reason: String, _ make: @escaping @Sendable () throws -> Recording) -> Bool {
        let lack = Lack(reason, make)
        let isLacking = state.withLock { state -> Bool in
            switch state.phase {
            case .idle, .lacking: state.phase = .lacking(lack)
            case .prepared, .starting, .recording, .over: return false
            }
            return true
        }
        if isLacking { retryLater(lack) }
        return isLacking
    }

    private func retryLater(_ lack: Lack) {
        lack.queue.asyncAfter(deadline: .now() + Self.pause) { [weak self] in self?.retry(lack) }
    }

    private func retry(_ lack: Lack) {
        let isDue: (State) -> Bool = { state in
            if case .lacking(let current) = state.phase { current === lack } else { false }
        }
        guard state.withLock({ isDue($0) }) else { return }
        do {
            let recording = try lack.make()
            state.withLock { state in
                guard isDue(state) else { return }
                state.phase = .recording(recording)
                recording.start(at: stream(of: recording), .nextKeyframe, in: group)
            }
        } catch {
            if state.withLock({ isDue($0) }) { self.lack("\(error)", lack.make) }
        }
    }

    /// Ends the recording, because the program has ended. No other recording can be started afterwards. Returns at
    /// once.
    func finish() {
        let recording = state.withLock { state -> Recording? in
            defer { state.phase = .over }
            guard case .recording(let recording) = state.phase else { return nil }
            end(recording, &state)
            return recording
        }
        if let recording { finish(recording) }
    }

    /// The stream that `recording` records.
    private func stream(of recording: Recording) -> PacketStream { recording.stream ?? hub }

    /// Counts `recording` among those that have not finished their work. Must be called while the state is locked, so
    /// that the group is entered before another thread can see that the recording has ended.
    private func end(_ recording: Recording, _ state: inout State) {
        state.ending.append(recording)
        group.enter()
    }

    private func finish(_ recording: Recording) {
        recording.finish(from: stream(of: recording)) { [self] in
            state.withLock { state in
                state.ending.removeAll { $0 === recording }
                state.last = recording.status
                state.hasRecorded = state.hasRecorded || state.last.hasRecorded
            }
            group.leave()
        }
    }

    /// The current recording, or a recording that is prepared; nil if there is neither.
    package var current: Recording? {
        state.withLock { state in
            switch state.phase {
            case .recording(let recording), .prepared(let recording): recording
            case .idle, .lacking, .starting, .over: nil
            }
        }
    }

    /// The directories of stopped recordings that have not finished their work.
    var endingDirectories: Set<String> { state.withLock { Set($0.ending.map(\.directory)) } }

    /// Whether there is a recording, or a recording is wanted or being set up, or a stopped recording has not finished
    /// its work.
    package var isBusy: Bool {
        state.withLock { state in
            switch state.phase {
            case .lacking, .prepared, .starting, .recording: true
            case .idle, .over: !state.ending.isEmpty
            }
        }
    }

    /// Carries out an operator's order about the uploads of the current recording, and of stopped recordings that are
    /// still uploading. Returns at once; the result says whether there are such uploads.
    package func perform(_ order: UploadOrder, ofSource source: String?) -> Bool {
        let ending = state.withLock { $0.ending }
        return (ending + (current.map { [$0] } ?? [])).map { $0.perform(order, ofSource: source) }.contains(true)
    }

    /// Stops uploading. Files that the recordings have not uploaded yet are uploaded when a recording in the same
    /// directory is next started. Returns at once.
    func cancelUploads() {
        let ending = state.withLock { $0.ending }
        for recording in ending + (current.map { [$0] } ?? []) { recording.cancelUploads() }
    }

    /// Whether any recording of this slot has written a frame to the disk.
    package var hasRecorded: Bool {
        let (had, ending) = state.withLock { ($0.hasRecorded, $0.ending) }
        return had || (ending + (current.map { [$0] } ?? [])).contains { $0.status.hasRecorded }
    }

    /// A snapshot of the current recording. Without a current recording, it is that of the recording that was stopped
    /// last. It then contains no storage status, because the disk of a stopped recording is not monitored any more.
    var status: RecordingStatus {
        if let current { return current.status }
        let (ending, last, phase) = state.withLock { ($0.ending.last, $0.last, $0.phase) }
        var status = ending?.status ?? last
        status.storage = nil
        if case .lacking(let lack) = phase {
            var recorder = status.recorder ?? RecorderStatus()
            (recorder.state, recorder.lastError) = (.failed, lack.reason)
            status.recorder = recorder
        }
        return status
    }
}
