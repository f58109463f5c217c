// SPDX-License-Identifier: Apache-2.0

package import Dispatch
package import FanOut
internal import Segmenter
internal import Status
internal import Synchronization
package import Upload

/// Why a recording was not started or stopped.
package enum RecordingSlotError: Error, Equatable, CustomStringConvertible {
    /// There is a recording, or one is being started.
    case alreadyRecording
    /// There is no recording.
    case notRecording
    /// The program is over.
    case over

    package var description: String {
        switch self {
        case .alreadyRecording: "The channel is being recorded already; stop that recording first."
        case .notRecording: "The channel is not being recorded."
        case .over: "The program is over."
        }
    }
}

/// The place of a channel's recording: at most one at a time, started and stopped while the channel is on air.
///
/// A recording that was stopped may still close its file and upload while the next one runs. All calls may come from any
/// thread.
package final class RecordingSlot: Sendable {
    /// A recording that is wanted and could not be set up, and what tries it again.
    private final class Lack: Sendable {
        let reason: String
        let make: @Sendable () throws -> Recording

        init(_ reason: String, _ make: @escaping @Sendable () throws -> Recording) {
            (self.reason, self.make) = (reason, make)
        }
    }

    private enum Phase {
        /// Nothing is recorded.
        case idle
        /// Nothing is recorded, and it is tried again and again.
        case lacking(Lack)
        /// Set up by ``prepare(_:)``, not fed yet.
        case prepared(Recording)
        /// Being set up while the program runs.
        case starting
        case recording(Recording)
        case over
    }

    private struct State {
        var phase = Phase.idle
        /// Recordings that were stopped and are still at work.
        var ending: [Recording] = []
        /// The status of the recording that ended last.
        var last = RecordingStatus()
        var hasRecorded = false
    }

    /// The pause between two tries of a recording that could not be set up.
    private static let pause = DispatchTimeInterval.seconds(10)

    private let hub: PacketStream
    private let group: DispatchGroup
    /// Waits for disks that do not answer.
    private let queue = DispatchQueue(label: "relay.recording", qos: .utility)
    private let state = Mutex(State())

    /// A slot whose recordings are fed by `hub`, unless they have a stream of their own. `group` is left when all that they
    /// began is done.
    package init(hub: PacketStream, group: DispatchGroup) {
        self.hub = hub
        self.group = group
    }

    /// Takes in the recording that begins with the program, at ``begin()``.
    func prepare(_ recording: Recording) { state.withLock { $0.phase = .prepared(recording) } }

    /// The program begins, and the prepared recording with it. Returns at once.
    func begin() {
        state.withLock { state in
            guard case .prepared(let recording) = state.phase else { return }
            state.phase = .recording(recording)
            recording.start(at: stream(of: recording), .program, in: group)
        }
    }

    /// Starts the recording that `make` sets up, beside the running program: its first file begins with the next
    /// keyframe, which is asked for, or where `beginning` says. Blocks as long as `make` does, and throws what it throws, or
    /// ``RecordingSlotError``.
    func start(_ beginning: Recording.Beginning = .nextKeyframe, _ make: () throws -> Recording) throws {
        let lack = try state.withLock { state -> Lack? in
            let lack: Lack? = if case .lacking(let lack) = state.phase { lack } else { nil }
            switch state.phase {
            case .idle, .lacking: state.phase = .starting
            case .prepared, .starting, .recording: throw RecordingSlotError.alreadyRecording
            case .over: throw RecordingSlotError.over
            }
            return lack
        }
        let recording: Recording
        do {
            recording = try make()
        } catch {
            // In one step: a start that comes between would find nothing to try again.
            let next = lack.map { Lack("\(error)", $0.make) }
            let isLacking = state.withLock { state -> Bool in
                guard case .starting = state.phase else { return false }
                state.phase = next.map { .lacking($0) } ?? .idle
                return next != nil
            }
            if isLacking, let next { retryLater(next) }
            throw error
        }
        try state.withLock { state in
            guard case .starting = state.phase else { throw RecordingSlotError.over }
            state.phase = .recording(recording)
            recording.start(at: stream(of: recording), beginning, in: group)
        }
    }

    /// Puts the recording that `make` sets up in the place of the one under way, which closes its file and ends its work
    /// beside the program; the first file of the next one begins with the next keyframe, which is asked for. Blocks as long
    /// as `make` does. Throws what it throws, and nothing is changed then, or ``RecordingSlotError``.
    func replace(_ make: () throws -> Recording) throws {
        let recording = try make()
        try state.withLock { (state) throws(RecordingSlotError) in
            switch state.phase {
            case .over: throw .over
            case .starting: throw .alreadyRecording
            case .prepared: return state.phase = .prepared(recording)
            case .idle, .lacking: break
            case .recording(let old):
                end(old, &state)
                // Before the next one starts: both would take the same packets of a source out of its buffer.
                finish(old)
            }
            state.phase = .recording(recording)
            recording.start(at: stream(of: recording), .nextKeyframe, in: group)
        }
    }

    /// Stops the recording; it closes its file and ends its work beside the program. Returns at once.
    func stop() throws(RecordingSlotError) {
        let recording = try state.withLock { (state) throws(RecordingSlotError) -> Recording? in
            switch state.phase {
            case .prepared, .lacking:
                state.phase = .idle
                return nil
            case .recording(let recording):
                state.phase = .idle
                end(recording, &state)
                return recording
            case .idle, .starting, .over: throw .notRecording
            }
        }
        if let recording { finish(recording) }
    }

    /// Shows `reason` as why nothing is recorded, and tries `make` until it sets the recording up, unless one is started or
    /// stopped by then. Whether there was no recording; nothing is done otherwise. Returns at once.
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
        queue.asyncAfter(deadline: .now() + Self.pause) { [weak self] in self?.retry(lack) }
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

    /// The program is over: what is recorded is closed, and nothing is started any more. Returns at once.
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

    /// Runs under the lock: a thread that finds the recording gone from its phase must find the group entered.
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

    /// The recording that is under way.
    package var current: Recording? {
        state.withLock { state in
            switch state.phase {
            case .recording(let recording), .prepared(let recording): recording
            case .idle, .lacking, .starting, .over: nil
            }
        }
    }

    /// Does what an operator asks of the uploads of the recordings under way, and of those that were stopped and still hand
    /// over. Whether there are such uploads. Returns at once.
    package func perform(_ order: UploadOrder, ofSource source: String?) -> Bool {
        let ending = state.withLock { $0.ending }
        return (ending + (current.map { [$0] } ?? [])).map { $0.perform(order, ofSource: source) }.contains(true)
    }

    /// Leaves to the next start what the recordings have not uploaded yet. Returns at once.
    func cancelUploads() {
        let ending = state.withLock { $0.ending }
        for recording in ending + (current.map { [$0] } ?? []) { recording.cancelUploads() }
    }

    /// Whether any recording of the channel has put a frame on disk.
    var hasRecorded: Bool {
        let (had, ending) = state.withLock { ($0.hasRecorded, $0.ending) }
        return had || (ending + (current.map { [$0] } ?? [])).contains { $0.status.hasRecorded }
    }

    /// A snapshot of the recording under way, or else of the one that was stopped last; its disk is no longer watched.
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
