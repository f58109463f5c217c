// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Evaluates measurements of free space, and decides whether recording begins, stops and resumes. Pure: it turns
/// numbers into decisions, without I/O.
struct StoragePolicy {
    /// The result of one measurement.
    enum Measurement: Equatable {
        case free(Int64)
        case failed(String)
    }

    /// A command to the recorder.
    enum Action: Equatable {
        case suspend(String)
        case resume
    }

    let directory: String
    /// The space that the recording needs. It includes the bytes that other recordings needed at the last admission.
    var budget: StorageBudget
    /// If the disk will be full sooner than this, the state is a warning.
    let warning: Duration
    /// If the disk will be full sooner than this, the state is critical. The time is five minutes, or half of the
    /// warning time if that is less.
    let critical: Duration

    private(set) var state = StorageState.ok
    private(set) var freeBytes: Int64 = 0
    /// Bytes that retention can free.
    private(set) var reclaimableBytes: Int64 = 0
    /// Bytes that this recording must leave to another recording.
    private(set) var promisedBytes: Int64 = 0
    private(set) var reason: String?
    private(set) var secondsUntilFull: Double?
    /// The time of the last measurement, and the free bytes at that time minus the bytes that retention has freed. So a
    /// deletion does not hide that another program is writing to the disk.
    private var previous: (time: MonotonicInstant, free: Int64)?
    /// The time from which the recorder's rate is measured, and the recorder's total at that time. It is the time at
    /// which the total last grew, or at which the measurement began.
    private var lastWrite: (time: MonotonicInstant, written: Int64)?
    /// Smoothed rates in bytes per second. `slope` is the rate at which free space decreases; `ownRate` is the rate at
    /// which the recorder writes.
    private var slope = 0.0
    private var ownRate = 0.0
    private var nextAdmission = MonotonicInstant.distantPast

    private static let admissionInterval: Duration = .seconds(30)
    /// The interval until admission is tried again after a failed measurement, for example while the disk is not
    /// mounted.
    private static let measurementInterval: Duration = .seconds(1)
    private static let smoothing = 30.0

    init(directory: String, budget: StorageBudget, warning: Duration) {
        self.directory = directory
        self.budget = budget
        self.warning = warning
        critical = min(.seconds(300), warning / 2)
    }

    /// Decides whether recording is allowed to begin. `deletable` is the size, in bytes, of old recordings that
    /// retention can delete during this recording. These bytes count as space for the recording, but not for the
    /// reserve, which must be free now.
    mutating func admit(_ measurement: Measurement, deletable: Int64 = 0, now: MonotonicInstant) -> StorageAdmission {
        let required = budget.requiredBytes
        var admission = StorageAdmission(
            isAdmitted: false, freeBytes: 0, requiredBytes: required, bitrate: budget.bitrate,
            duration: budget.duration, sentence: "")
        nextAdmission = now + Self.admissionInterval
        switch measurement {
        case .failed(let text):
            admission.sentence = "Recording cannot start: \(text)."
            nextAdmission = now + Self.measurementInterval
        case .free(let free):
            freeBytes = free
            admission.freeBytes = free
            admission.deletableBytes = deletable
            let (room, overflow) = free.addingReportingOverflow(deletable)
            admission.isAdmitted = (overflow || room > required) && free > budget.reserveBytes
            admission.sentence = sentence(free: free, deletable: deletable, required: required)
        }
        state = admission.isAdmitted ? .ok : .refused
        reason = admission.isAdmitted ? nil : admission.sentence
        return admission
    }

    /// Prepares for measurements of another file system, of `capacity` bytes. Earlier measurements do not apply to this
    /// file system.
    mutating func move(capacity: Int64) {
        budget.capacity = capacity
        (previous, lastWrite, slope, secondsUntilFull) = (nil, nil, 0, nil)
    }

    /// Whether admission of a refused recording should be tried again at `now`.
    func isAdmissionDue(at now: MonotonicInstant) -> Bool { state == .refused && now >= nextAdmission }

    private func sentence(free: Int64, deletable: Int64, required: Int64) -> String {
        let recording = "\(Double(budget.bitrate / 10_000) / 100) Mbit/s × \(DurationText(budget.duration))"
        let parts =
            budget.needsReserve
            ? "\(recording) and 2 % for the container, and \(ByteSize(bytes: budget.reserveBytes)) that --disk-reserve "
                + "keeps free"
            : "2 × \(recording), with 2 % for the container"
        let others = budget.neededByOthers
        let more = others > 0 ? ", and \(ByteSize(bytes: others)) that other recordings on this disk still need" : ""
        let needs = "recording needs \(ByteSize(bytes: required)) (\(parts)\(more))"
        let old = deletable > 0 ? " and old recordings of \(ByteSize(bytes: deletable)) that may be deleted" : ""
        let has = "\(directory) has \(ByteSize(bytes: free)) free\(old)"
        if required - free >= deletable {
            return "\(needs), \(has): \(ByteSize(bytes: required - free - deletable)) short"
        }
        let reserve = budget.reserveBytes
        if free <= reserve {
            return "\(has), which is not more than the reserve of \(ByteSize(bytes: reserve)): nothing can be recorded"
        }
        return "\(needs), \(has)"
    }

    /// Evaluates one measurement. `written` is what the recorder has written so far, `retained` is what retention has
    /// freed and can still free, and `promised` is the space that must be left to another recording.
    mutating func update(
        _ measurement: Measurement, written: Int64, retained: RetentionBalance = .init(), promised: Int64 = 0,
        now: MonotonicInstant
    ) -> [Action] {
        switch measurement {
        case .failed(let text):
            previous = nil
            lastWrite = nil
            secondsUntilFull = nil
            guard state == .stopped || state == .refused else { return stop(text) }
            reason = text
            return []
        case .free(let free):
            (reclaimableBytes, promisedBytes) = (retained.reclaimableBytes, promised)
            observe(free, written, retained, now)
            freeBytes = free
            return judge(free, now)
        }
    }

    private mutating func stop(_ text: String) -> [Action] {
        state = .stopped
        reason = text
        return [.suspend(text)]
    }

    private mutating func judge(_ free: Int64, _ now: MonotonicInstant) -> [Action] {
        switch state {
        case .refused: return []
        case .stopped:
            guard free >= budget.resumeBytes, room(of: free) >= budget.resumeBytes - budget.reserveBytes else {
                reason = shortage(free)
                return []
            }
            state = level
            reason = nil
            return [.resume]
        case .ok, .warning, .critical:
            guard free > budget.reserveBytes, room(of: free) > 0 else { return stop(shortage(free)) }
            state = level
            return []
        }
    }

    /// Returns how much of the free space, and of the space that retention can free, is neither reserved nor promised.
    private func room(of free: Int64) -> Int64 {
        let (taken, overflow) = budget.reserveBytes.addingReportingOverflow(promisedBytes)
        let (all, isLarge) = free.addingReportingOverflow(reclaimableBytes)
        return (isLarge ? .max : all) - (overflow ? .max : taken)
    }

    private func shortage(_ free: Int64) -> String {
        let reserve = ByteSize(bytes: budget.reserveBytes)
        let promised = promisedBytes > 0 ? " and \(ByteSize(bytes: promisedBytes)) for the program" : ""
        return "\(directory) has only \(ByteSize(bytes: free)) free; \(reserve) are kept in reserve\(promised)"
    }

    /// The state according to the forecast. Because a forecast fluctuates, the state improves only when the remaining
    /// time is a tenth longer than the limit.
    private var level: StorageState {
        guard let left = secondsUntilFull else { return .ok }
        if left < critical.inSeconds * (state == .critical ? 1.1 : 1) { return .critical }
        let wasShort = state == .warning || state == .critical
        return left < warning.inSeconds * (wasShort ? 1.1 : 1) ? .warning : .ok
    }

    /// Forecasts when the disk will be full. The forecast uses the higher of two smoothed rates: the recorder's own
    /// rate, and the decrease of free space. The configured bitrate is used in addition until something was written. It
    /// is also used while recording is stopped or refused, because the forecast then tells how long the space would
    /// last if recording continued.
    private mutating func observe(
        _ free: Int64, _ written: Int64, _ retained: RetentionBalance, _ now: MonotonicInstant
    ) {
        let unaided = free - retained.deletedBytes
        if let previous, now > previous.time {
            let seconds = (now - previous.time).inSeconds
            let weight = min(1, seconds / Self.smoothing)
            slope += weight * ((Double(previous.free) - Double(unaided)) / seconds - slope)
        }
        previous = (now, unaided)
        let isHeldBack = state == .stopped || state == .refused
        observeOwn(written, now, isHeldBack)
        let planned = Double(budget.bytes(in: .seconds(1)))
        let rate = max(slope, ownRate, isHeldBack || ownRate == 0 ? planned : 0)
        let own = free - min(free, budget.reserveBytes)
        let room = max(0, Double(own) + Double(retained.reclaimableBytes) - Double(promisedBytes))
        secondsUntilFull = rate > 0 ? room / rate : nil
    }

    /// Updates the recorder's own rate. The rate is measured over the time since the recorder's total last grew,
    /// because a measurement between two fragments, or while the recorder pauses, says nothing about its speed while it
    /// writes.
    private mutating func observeOwn(_ written: Int64, _ now: MonotonicInstant, _ isHeldBack: Bool) {
        guard let last = lastWrite, !isHeldBack else {
            lastWrite = (now, written)
            return
        }
        guard written > last.written, now > last.time else { return }
        let seconds = (now - last.time).inSeconds
        let own = Double(written - last.written) / seconds
        ownRate = ownRate == 0 ? own : ownRate + min(1, seconds / Self.smoothing) * (own - ownRate)
        lastWrite = (now, written)
    }
}
