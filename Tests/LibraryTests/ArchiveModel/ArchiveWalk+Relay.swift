// SPDX-License-Identifier: Apache-2.0

import Archive
import Foundation
import TestSupport

@testable import Segmenter

/// Operations of relay itself.
extension ArchiveWalk {
    /// Starts relay, unless its directory is missing. With `isAwaited`, starts relay although its disk is not mounted.
    func start(isAwaited: Bool = false) {
        guard relay == nil, !isMissing || isAwaited else { return }
        let run = "r\(runs.count + 1)"
        do {
            let settings = SimulatedRelay.Settings(
                path: path, channel: channel, template: try NameTemplate(parsing: names), rules: rules,
                hasUploads: hasUploads, heedsVetoes: heedsVetoes, run: run, disk: disk, memory: memory)
            let relay = try SimulatedRelay(settings, time: time)
            runs[run] = ModelRun(wasInterrupted: disk.isFull || isAwaited)
            self.relay = relay
            hadTrouble = isAwaited
            note("start of \(run) with names \(names)")
            relay.begin(recoversFirst: Bool.random(using: &random))
        } catch {
            note("relay does not start: \(error)")
            if !isReadOnly { fault("relay does not start: \(error)") }
            return
        }
        scan()
        for name in place.files.keys { place.files[name]?.awaitsStart = false }
        check()
    }

    /// Ends relay in the regular way.
    func stop() async {
        guard let ending = relay else { return }
        note("stop")
        await ending.finish()
        relay = nil
        scan()
        if isMissing || isReadOnly || place.isCatalogueDamaged { loseNotes(of: ending.run) }
    }

    /// Records that changes that the catalogue could not write are lost, because the process of `run` ended.
    private func loseNotes(of run: String) {
        runs[run]?.isDoubtful = true
        place.forgetUploads()
        for (name, file) in place.files {
            place.files[name]?.awaitsStart = true
            // The catalogue may still have a row of an earlier file of this name.
            if file.isReused { place.files[name]?.isExempt = true }
        }
    }

    /// Records this many seconds of the program.
    func record(_ seconds: Int) {
        guard let relay else { return }
        note("record \(seconds) s")
        for _ in 0..<seconds { relay.recordSecond() }
        relay.rest()
        runs[relay.run]?.fed = relay.frames
        scan()
        check()
    }

    /// Lets the storage guard and retention check, as their timers do each second.
    func check() {
        guard let relay else { return }
        keepRivalWriting()
        relay.watch()
        relay.retention.check()
        relay.rest()
        scan(.retention)
    }

    /// Advances the time by a minute, after which retention reads the directory.
    func look() {
        note("look")
        time.pass(.seconds(61))
        check()
    }

    /// Advances the time by hours in which the source sends nothing.
    func wait() {
        let hours = Int.random(in: 1...9, using: &random)
        let isPaused = Bool.random(using: &random)
        note("wait \(hours) h\(isPaused ? ", paused" : "")")
        if isPaused, let relay {
            relay.recorder.pause()
            relay.rest()
            runs[relay.run]?.wasInterrupted = true
            scan()
        }
        time.pass(.seconds(hours * 3600))
        look()
    }

    /// Kills relay while it records. With `isUntold`, relay is killed after it has closed files, but before it has told
    /// the catalogue about them.
    func crash(isUntold: Bool) async throws {
        guard relay != nil else { return }
        note("crash\(isUntold ? ", and nothing is told of the last files" : "")")
        die(isUntold: isUntold)
        relay = nil
        try await leaveRuins()
    }

    private func die(isUntold: Bool) {
        guard let relay else { return }
        if isUntold { relay.cutLine() }
        for _ in 0..<Int.random(in: 0...4, using: &random) { relay.recordSecond() }
        relay.rest()
        runs[relay.run]?.fed = relay.frames
        runs[relay.run]?.wasKilled = true
        if isUntold { runs[relay.run]?.isDoubtful = true }
        scan(isUntold: isUntold)
        if hadTrouble || place.isCatalogueDamaged { loseNotes(of: relay.run) }
    }

    /// Truncates some of the files that the killed relay has left open, as a loss of power does.
    private func leaveRuins() async throws {
        let directory = try RecordDirectory.existing(place.path)
        let open = try directory.recordings().filter { $0.kind == .open && place.others[$0.name] == nil }
        // A file stays locked until the last reference to the recorder is released.
        try await eventually("the killed recorder lets go of its files") {
            !open.contains { directory.isInUse($0.name) }
        }
        for (name, _) in open where Int.random(in: 0..<3, using: &random) == 0 {
            let path = "\(place.path)/\(name)"
            let file = try FileDescriptor.open(existing: path)
            try file.truncate(to: file.size() * Int64.random(in: 0...100, using: &random) / 100)
            Self.date(path, at: time.wall)
            note("\(name) lost its end")
        }
    }

    // MARK: Uploads

    /// Uploads the files that wait for their upload. `fault` happens after some of these files.
    func upload(_ fault: SimulatedDelivery.Fault) async {
        guard let relay, hasUploads else { return }
        let good = Int.random(in: 0...3, using: &random)
        note("upload, \(fault) after \(good)")
        let arrivals = await relay.upload(fault, after: good)
        take(arrivals, isLastUnknown: fault == .killedAfter && arrivals.count > good)
        scan()
    }

    /// Takes the files that arrived at the remote into the model. With `isLastUnknown`, relay was killed before it knew
    /// of the last one.
    private func take(_ arrivals: [SimulatedDelivery.Arrival], isLastUnknown: Bool = false) {
        let isDoubtful = hadTrouble || place.isCatalogueDamaged
        for (index, arrival) in arrivals.enumerated() {
            let name = arrival.name
            guard let file = place.files[name] else {
                fault("\(name) was uploaded, and is no recording of this archive")
                continue
            }
            if file.isUploaded, !file.mayRepeat { fault("\(name) was uploaded twice") }
            let isUnknown = isLastUnknown && index == arrivals.count - 1
            place.files[name]?.mayRepeat = isUnknown || isDoubtful
            place.files[name]?.isUploaded = !isUnknown
            if !isUnknown { place.uploads.append(ModelPlace.Upload(arrival: arrival, isCertain: !isDoubtful)) }
        }
    }

    /// Lets the remote be away for hours, in which relay tries again and again to upload what waits. Retention must keep
    /// it until the remote is back and has taken it.
    func uploadAfterOutage() async {
        guard let relay, hasUploads, let next = await relay.nextUpload(), place.files[next] != nil else { return }
        let hours = Int.random(in: 1...2, using: &random)
        note("the remote is away for \(hours) h, and \(next) waits")
        let arrivals = await relay.upload(next, awayFor: .seconds(hours * 3600))
        take(arrivals)
        scan(.retention)
        let isHealthy = !isReadOnly && !hadTrouble && !place.isCatalogueDamaged
        if isHealthy, place.files[next] != nil, !arrivals.contains(where: { $0.name == next }) {
            fault("\(next) was not uploaded when the remote was back")
        }
    }

    /// Kills relay while it uploads a file.
    func killDuringUpload() async throws {
        guard relay != nil, hasUploads else { return }
        await upload(Bool.random(using: &random) ? .killedBefore : .killedAfter)
        try await crash(isUntold: false)
    }
}
