// SPDX-License-Identifier: Apache-2.0

internal import Media

/// What the guard concludes from each measurement. Pure: numbers in, verdicts out.
struct StoragePolicy {
    /// What one look at the disk found.
    enum Measurement: Equatable {
        case free(Int64)
        case failed(String)
    }

    /// What changes for the recorder.
    enum Action: Equatable {
        case suspend(String)
        case resume
    }

    let directory: String
    let budget: StorageBudget
    /// Shorter than this until full is worth a warning.
    let warning: Duration

    private(set) var state = StorageState.ok
    private(set) var freeBytes: Int64 = 0
    private(set) var reason: String?
    private(set) var secondsUntilFull: Double?
    private var previous: (time: Int64, free: Int64)?
    /// When the recorder's total last grew, or from when on it may be expected to.
    private var lastWrite: (time: Int64, written: Int64)?
    /// Smoothed bytes a second that vanish, and that the recorder writes.
    private var slope = 0.0
    private var ownRate = 0.0
    private var nextAdmission: Int64 = 0

    private static let admissionInterval: Int64 = 30_000_000_000
    private static let smoothing = 30.0

    init(directory: String, budget: StorageBudget, warning: Duration) {
        self.directory = directory
        self.budget = budget
        self.warning = warning
    }

    /// Decides whether recording may begin at all.
    mutating func admit(_ measurement: Measurement, now: Int64) -> StorageAdmission {
        let required = budget.requiredBytes
        var admission = StorageAdmission(
            isAdmitted: false, freeBytes: 0, requiredBytes: required, bitrate: budget.bitrate,
            duration: budget.duration, sentence: "")
        switch measurement {
        case .failed(let text): admission.sentence = "Recording cannot start: \(text)."
        case .free(let free):
            freeBytes = free
            admission.freeBytes = free
            admission.isAdmitted = free > required && free > budget.reserveBytes
            admission.sentence = sentence(free: free, required: required)
        }
        state = admission.isAdmitted ? .ok : .refused
        reason = admission.isAdmitted ? nil : admission.sentence
        nextAdmission = now + Self.admissionInterval
        return admission
    }

    private func sentence(free: Int64, required: Int64) -> String {
        let megabits = Double(budget.bitrate / 10_000) / 100
        let needs =
            "recording needs \(ByteSize(bytes: required)) "
            + "(2 × \(megabits) Mbit/s × \(DurationText(budget.duration)), with 2 % for the container)"
        let has = "\(directory) has \(ByteSize(bytes: free)) free"
        if free <= required { return "\(needs), \(has): \(ByteSize(bytes: required - free)) short" }
        let reserve = budget.reserveBytes
        if free <= reserve {
            return "\(has), which is not more than the reserve of \(ByteSize(bytes: reserve)): nothing can be recorded"
        }
        return "\(needs), \(has)"
    }

    /// Takes one measurement in, with the bytes that the recorder has written so far.
    mutating func update(_ measurement: Measurement, written: Int64, now: Int64) -> [Action] {
        switch measurement {
        case .failed(let text):
            previous = nil
            lastWrite = nil
            secondsUntilFull = nil
            guard state == .ok || state == .warning else { return [] }
            return stop(text)
        case .free(let free):
            observe(free, written, now)
            freeBytes = free
            return judge(free, now)
        }
    }

    private mutating func stop(_ text: String) -> [Action] {
        state = .stopped
        reason = text
        return [.suspend(text)]
    }

    private mutating func judge(_ free: Int64, _ now: Int64) -> [Action] {
        switch state {
        case .refused:
            guard now >= nextAdmission else { return [] }
            return admit(.free(free), now: now).isAdmitted ? [.resume] : []
        case .stopped:
            guard free >= budget.resumeBytes else { return [] }
            state = isShort ? .warning : .ok
            reason = nil
            return [.resume]
        case .ok, .warning:
            guard free > budget.reserveBytes else {
                let reserve = ByteSize(bytes: budget.reserveBytes)
                return stop("\(directory) has only \(ByteSize(bytes: free)) free; \(reserve) are kept in reserve")
            }
            state = isShort ? .warning : .ok
            return []
        }
    }

    private var isShort: Bool {
        guard let secondsUntilFull else { return false }
        // Once warned, a tenth more is needed before all is well again: a forecast wavers.
        return secondsUntilFull < warning.inSeconds * (state == .warning ? 1.1 : 1)
    }

    /// Forecasts from the worse of the recorder's rate and the slope of free space, both smoothed. Until something was
    /// written, the configured bitrate stands in; while nothing may be written, it counts as well, because the question
    /// is then how long the space would last if recording went on.
    private mutating func observe(_ free: Int64, _ written: Int64, _ now: Int64) {
        if let previous, now > previous.time {
            let seconds = Double(now - previous.time) / 1e9
            let weight = min(1, seconds / Self.smoothing)
            slope += weight * (Double(previous.free - free) / seconds - slope)
        }
        previous = (now, free)
        let isHeldBack = state == .stopped || state == .refused
        observeOwn(written, now, isHeldBack)
        let planned = Double(budget.bytes(in: .seconds(1)))
        let rate = max(slope, ownRate, isHeldBack || ownRate == 0 ? planned : 0)
        let room = Double(max(0, free - min(free, budget.reserveBytes)))
        secondsUntilFull = rate > 0 ? room / rate : nil
    }

    /// The recorder's own rate, over the time since its total last grew: a pause of the recorder, or a look between two
    /// fragments, says nothing about how fast it writes when it does.
    private mutating func observeOwn(_ written: Int64, _ now: Int64, _ isHeldBack: Bool) {
        guard let last = lastWrite, !isHeldBack else {
            lastWrite = (now, written)
            return
        }
        guard written > last.written, now > last.time else { return }
        let seconds = Double(now - last.time) / 1e9
        let own = Double(written - last.written) / seconds
        ownRate = ownRate == 0 ? own : ownRate + min(1, seconds / Self.smoothing) * (own - ownRate)
        lastWrite = (now, written)
    }
}
