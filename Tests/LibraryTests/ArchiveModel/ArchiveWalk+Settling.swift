// SPDX-License-Identifier: Apache-2.0

import Archive
import Foundation
import Media
import Segmenter
import TestSupport

@testable import Catalogue
@testable import Library

/// Ends all disturbances, and checks that everything is right again: first while relay continues, then after a restart.
extension ArchiveWalk {
    func settle() async throws {
        note("the disturbances end")
        setReadOnly(false)
        try comeBack()
        if disk.isFull { fillDisk() }
        correctClock()
        if relay == nil { start() }
        // A recording that was refused begins by itself at the next admission, after at most 30 s. A recording that was
        // suspended continues within a second.
        time.pass(.seconds(30))
        record(6)
        checkRecording()
        if !place.isCatalogueDamaged { checkList(isFresh: false) }
        await stop()
        start()
        await mendCatalogue()
        try removeLostMark()
        await upload(.none)
        checkUploads()
        checkLedgers()
        checkList(isFresh: true)
        checkPrograms()
    }

    private func checkRecording() {
        guard let relay else { return fault("relay does not run") }
        let status = relay.recorder.status
        guard status.state != .recording else { return }
        fault("recording does not continue: \(status.state), \(status.lastError ?? status.suspension ?? "")")
    }

    /// Compares the API's list with the files. Without `isFresh`, the list may lack files that relay finds only at its
    /// next start.
    func checkList(isFresh: Bool) {
        guard let relay else { return fault("relay does not run") }
        relay.rest()
        do {
            let list = try relay.archive.list(0..<Int64.max, limit: 100_000)
            let listed = Set(list.recordings.filter { $0.state == .finished }.map(\.name))
            let wanted = place.files.filter { !$0.value.isDamaged && (isFresh || !$0.value.awaitsStart) }
            let missing = Set(wanted.keys).subtracting(listed)
            if !missing.isEmpty { fault("the list lacks \(missing.sorted())") }
            let strange = listed.subtracting(place.files.keys)
            if !strange.isEmpty { fault("the list has \(strange.sorted()), which are no recordings of this archive") }
        } catch {
            fault("the recordings cannot be listed: \(error)")
        }
    }

    private func checkUploads() {
        guard hasUploads else { return }
        for name in place.names {
            guard let file = place.files[name], !file.isDamaged, !file.isUploaded, !file.isExempt else { continue }
            fault("\(name) was never uploaded")
        }
    }

    /// Compares the ledger of uploads of each directory with what the remote has taken: it must have each upload once.
    private func checkLedgers() {
        relay?.rest()
        for one in [place] + shelf where !one.isCatalogueDamaged && Catalogue.exists(in: one.path) {
            do {
                try checkLedger(of: one)
            } catch {
                fault("the ledger of uploads cannot be read: \(error)")
            }
        }
    }

    private func checkLedger(of place: ModelPlace) throws {
        let directory = try RecordDirectory.existing(place.path)
        let entries = try ChannelLedger(directory: directory, channel: channel).uploads(0..<Int64.max, limit: .max)
        let shift = Int64(entries.count)
        var left = place.uploads
        // If an upload could not be written to the ledger of its own directory, it may be in the ledger of the
        // directory that replaced it.
        let elsewhere = ([self.place] + shelf).flatMap(\.uploads).filter { !$0.isCertain }
        for entry in entries {
            let isShown = { (upload: ModelPlace.Upload) in place.isShown(upload, by: entry, shift: shift) }
            if let index = left.firstIndex(where: { $0.isCertain && isShown($0) }) ?? left.firstIndex(where: isShown) {
                left.remove(at: index)
            } else if !elsewhere.contains(where: isShown) {
                fault("the ledger has an upload that was not made, or has it twice: \(entry)")
            }
        }
        if let lost = left.first(where: \.isCertain) { fault("the ledger lacks an upload: \(lost.arrival)") }
    }

    /// Removes the catalogue if it is damaged so that it cannot be used, as an operator does.
    private func mendCatalogue() async {
        defer { place.isCatalogueDamaged = false }
        guard place.isCatalogueDamaged, let relay else { return }
        relay.rest()
        let isUsable = (try? CatalogueStore(directory: path)) != nil
        guard !isUsable else { return }
        note("the catalogue cannot be used, and is removed")
        await stop()
        for suffix in ["", "-journal"] {
            try? FileManager.default.removeItem(atPath: "\(path)/\(RecordDirectory.catalogueName)\(suffix)")
        }
        place.clips = []
        start()
    }

    /// Accepts the loss of clips, as an operator does, so that retention deletes files again.
    private func removeLostMark() throws {
        let mark = "\(path)/\(ClipMark.unknown)"
        guard FileManager.default.fileExists(atPath: mark), let relay else { return }
        note("the lost clips are accepted")
        let known = try ChannelLedger(directory: relay.directory, channel: channel).clips()
        place.clips = place.clips.filter(known.contains)
        try FileManager.default.removeItem(atPath: mark)
    }

    // MARK: The programs

    /// Checks that each frame that was given to a recorder is in a file, or in a gap that a catalogue contains.
    private func checkPrograms() {
        relay?.rest()
        let gaps = ([place] + shelf).flatMap { self.gaps(in: $0) }
        for name in runs.keys.sorted() where name != relay?.run {
            guard let run = runs[name], !run.isAccounted, !run.isDoubtful else { continue }
            runs[name]?.isAccounted = true
            if let frame = lostFrame(of: name, run, gaps.filter { $0.run == name }) {
                fault("frame \(frame) of \(name) is in no file and no gap; files: \(run.recorded)")
            }
        }
    }

    private func gaps(in place: ModelPlace) -> [CatalogueGap] {
        // SQLite would create a database if there were no file.
        guard Catalogue.exists(in: place.path) else { return [] }
        return (try? CatalogueStore(reading: place.path).gaps()) ?? []
    }

    /// Returns the first frame that is neither in a file nor in a gap. Frames before the first remaining file of a run
    /// are not checked, because their gaps may have been forgotten.
    private func lostFrame(of name: String, _ run: ModelRun, _ gaps: [CatalogueGap]) -> Int64? {
        let left = ([place] + shelf).flatMap { place in place.files.values.filter { $0.run == name } }
        guard let first = left.map(\.frames.lowerBound).min() else { return nil }
        // If relay was killed after an interruption, the catalogue may not contain that the program continued.
        let isEndKnown = !run.wasKilled || !run.wasInterrupted
        let end = isEndKnown ? run.fed : run.recorded.map(\.upperBound).max() ?? first
        // Times are rounded to milliseconds.
        let (tolerance, rate) = (Duration.milliseconds(1), SimulatedMedia.rate)
        guard first < end else { return nil }
        return (first..<end).first { frame in
            let (from, to) = (rate.start(of: FrameIndex(frame)), rate.start(of: FrameIndex(frame + 1)))
            let isRecorded = run.recorded.contains { $0.contains(frame) }
            return !isRecorded
                && !gaps.contains { $0.from <= from + tolerance && ($0.to ?? .distantFuture) >= to - tolerance }
        }
    }
}
