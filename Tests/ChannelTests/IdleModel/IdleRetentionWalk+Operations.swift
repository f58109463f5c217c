// SPDX-License-Identifier: Apache-2.0

import Archive
import Catalogue
import Foundation
import Media
import RecordingSamples
import Segmenter
import TestSupport

@testable import Channel

/// What relay, other processes, operators and clocks do.
extension IdleRetentionWalk {
    /// Adds a file that was recorded just now, as a recording of relay or of another process does.
    func record() async throws {
        number += 1
        let late = Int64(number) * 10
        let sample = SampleRecording(seconds: 1, late: late)
        let start = UTCTime(milliseconds: SampleRecording.start.milliseconds + late * 1000)
        let name = SegmentName(channel: Self.channel, start: start, sequence: number).closed
        try place.write(sample.closed, to: name)
        date(name, at: wallClock())
        files[name] = File(bytes: Int64(sample.closed.count), ended: clock.now, isDated: error.value == 0)
        note("\(name) is recorded")
        await asAnotherProcess { $0.segmentRecovered(fileName: name) }
    }

    func changeBusy() throws {
        isBusy.value.toggle()
        note(isBusy.value ? "a recording works" : "the recording ends")
        // The timer checks the files each second.
        try look(after: .seconds(1))
        if !isBusy.value { waitForGrace() }
    }

    func changeHold() throws {
        guard !files.isEmpty else { return }
        let name = random.pick(files.keys.sorted())
        note("\(held.contains(name) ? "release" : "hold") \(name)")
        if held.remove(name) != nil {
            if marksHolds { try HoldMark.remove(of: name, in: directory) }
        } else {
            held.insert(name)
            if marksHolds { try HoldMark.set(of: name, in: directory) }
        }
    }

    /// Lets another process queue a file for upload, or upload it.
    func changeUpload() async {
        guard !files.isEmpty else { return }
        let name = random.pick(files.keys.sorted())
        let isDone = waiting.remove(name) != nil
        if !isDone { waiting.insert(name) }
        note("\(name) \(isDone ? "is uploaded" : "waits for its upload")")
        await asAnotherProcess { $0.noteUpload(isDone ? .done : .waiting, of: name) }
    }

    /// Lets another process begin to record the channel, or lets it end.
    func changeRival() throws {
        note("another process \(rival == nil ? "records" : "ends")")
        if rival != nil { return try endRival() }
        number += 1
        let closed = SegmentName(channel: Self.channel, start: wallClock(), sequence: number).closed
        let name = closed + SegmentName.openMark
        try place.write("begun".utf8, to: name)
        let lock = try FileDescriptor.open(existing: place.path(name))
        if !lock.lock() { faults.append("\(name), which was just made, is locked") }
        rival = (name, lock)
    }

    private func endRival() throws {
        guard let name = rival?.name else { return }
        rival = nil
        try FileManager.default.removeItem(atPath: place.path(name))
    }

    func restart() {
        note("restart")
        retention.stop()
        retention = IdleRetention(channel: Self.channel, clock: clock, wallClock: wallClock, logger: quiet) {
            [isBusy] in isBusy.value
        }
        configure()
    }

    func changeRules() {
        let ages: [Duration?] = [nil, .seconds(Self.greatest * 3600)]
        let sizes: [Int64?] = [nil, 30_000, 60_000]
        rules = RetentionRules(
            maximumAge: random.pick(ages), maximumBytes: random.pick(sizes),
            minimumAge: .seconds(Self.least * 3600))
        if Int.random(in: 0..<6, using: &random) == 0 { rules = nil }
        note("the rules are now \(Self.text(rules))")
        configure()
    }

    private func configure() {
        retention.configure(recording)
        isConfirmed = false
        waitForGrace()
    }

    /// The channel has recorded with its rules.
    func confirm() {
        note("the rules are confirmed")
        retention.confirm(retention.restore(recording))
        isConfirmed = true
        waitForGrace()
    }

    private func waitForGrace() { idleFrom = clock.now + Self.grace }

    private var recording: ChannelConfiguration.Recording {
        ChannelConfiguration.Recording(
            directory: place.path, mount: .ignored, length: .duration(.seconds(60)), expected: .seconds(60),
            warning: .seconds(60), retention: rules)
    }

    /// Sets the wall clock wrong, or right if it is wrong, if retention reads it now. Retention reads the clock before
    /// anything else happens, as it does each minute. With `whileOff`, relay is restarted meanwhile.
    func changeClock(whileOff: Bool) throws {
        try look(after: .seconds(61))
        guard isClockSeen, faults.isEmpty else { return }
        let hours = Int64.random(in: 10...2000, using: &random) * (Bool.random(using: &random) ? 1 : -1)
        error.value = error.value == 0 ? hours * 3_600_000 : 0
        // If two consecutive files were dated by different clocks, retention knows the time between them only to within
        // 10 min.
        if error.value != 0 { slack += .seconds(600) }
        note("the wall clock is \(error.value / 1000) s ahead")
        if whileOff { restart() }
        try eventually("retention has read the clock") {
            try look(after: .seconds(61))
            return isClockSeen || !faults.isEmpty
        }
    }

    /// Whether retention has read the clock just now.
    private var isClockSeen: Bool {
        RememberedClock.read(of: Self.channel, in: directory)?.lastSeen == wallClock()
    }

    /// Changes the catalogue as another process does.
    private func asAnotherProcess(_ change: (Catalogue) -> Void) async {
        let other = Catalogue(directory: directory, channel: Self.channel, wallClock: wallClock, logger: quiet)
        change(other)
        await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in other.finish { done.resume() } }
    }

    /// Ends all disturbances, and lets hours pass: each file that nothing needs must be deleted, if its age is known.
    func settle() throws {
        note("the disturbances end")
        try endRival()
        (error.value, isBusy.value) = (0, false)
        rules = RetentionRules(
            maximumAge: .seconds(Self.greatest * 3600), minimumAge: .seconds(Self.least * 3600))
        configure()
        let needed = held.union(waiting)
        let due = files.filter { $0.value.isDated && !needed.contains($0.key) }.keys.sorted()
        for _ in 0..<150 where faults.isEmpty && due.contains(where: exists) { try look(after: .seconds(600)) }
        if faults.isEmpty, let left = due.first(where: exists) { faults.append("\(left) was not deleted for a day") }
    }
}
