// SPDX-License-Identifier: Apache-2.0

import Archive
import Catalogue
import Foundation
import Media
import RecordingSamples
import Segmenter
import TestSupport

@testable import Channel

/// Compares the directory with the model.
extension IdleRetentionWalk {
    /// Lets `duration` pass, and lets retention check the files once or twice.
    func look(after duration: Duration) throws {
        clock.advance(by: duration)
        for _ in 0...Int.random(in: 0...1, using: &random) {
            if let rival { date(rival.name, at: wallClock()) }
            dateCatalogue()
            retention.look()
            try compare()
        }
    }

    /// Compares the directory with the model after retention has checked the files.
    private func compare() throws {
        for name in others where !exists(name) { faults.append("\(name) is not of this channel, and was deleted") }
        let gone = files.keys.filter { !exists($0) }.sorted()
        guard !gone.isEmpty else { return }
        let total = files.values.reduce(0) { $0 + $1.bytes }
        for name in gone {
            note("\(name) was deleted")
            if let reason = protection(of: name, total) { faults.append("\(name) was deleted although \(reason)") }
        }
        let bySize = gone.compactMap { files[$0] }.filter { !isTooOld($0) }
        for name in gone { files[name] = nil }
        held.subtract(gone)
        waiting.subtract(gone)
        let left = files.values.reduce(0) { $0 + $1.bytes }
        if let most = rules?.maximumBytes, let last = bySize.map(\.bytes).max(), left + last <= most {
            faults.append("more was deleted than a size of \(most) demands: \(left) bytes are left")
        }
        // The deletions are written to the catalogue by another thread.
        let ledger = ChannelLedger(directory: directory, channel: Self.channel)
        try eventually("the catalogue has the deletions") {
            try gone.allSatisfy { name in try ledger.segment(name).map { $0.deleted != nil } ?? true }
        }
    }

    /// Why the file must not be deleted now; nil if it may be. `total` is the size of all files.
    private func protection(of name: String, _ total: Int64) -> String? {
        guard let file = files[name], let rules else { return "there are no rules" }
        if isBusy.value { return "a recording works" }
        if rival != nil { return "another process records" }
        if clock.now < idleFrom { return "the channel is off for less than a minute" }
        if held.contains(name) { return "it is held" }
        if waiting.contains(name) { return "it waits for its upload" }
        let age: Duration = clock.now - file.ended
        if file.isDated, age < .seconds(Self.least * 3600) - slack - Self.rounding {
            return "it is only \(age.components.seconds) s old"
        }
        if isTooOld(file) { return nil }
        guard isConfirmed, let most = rules.maximumBytes, total > most else { return "no rule demands that" }
        return nil
    }

    /// Whether the maximum age may demand that the file is deleted: if no time server confirms the clock, a quarter of
    /// that age can be wrong.
    private func isTooOld(_ file: File) -> Bool {
        guard rules?.maximumAge != nil else { return false }
        let age: Duration = clock.now - file.ended
        return !file.isDated || age >= .seconds(Self.greatest * 2700) - slack
    }

    func exists(_ name: String) -> Bool { FileManager.default.fileExists(atPath: place.path(name)) }

    /// Makes files that retention must not touch.
    func addOthers() throws {
        let other = SegmentName(channel: "test-cam", start: SampleRecording.start, sequence: 1).closed
        try place.write(SampleRecording(seconds: 1, channel: "test-cam").closed, to: other)
        try place.write([UInt8](repeating: 0x20, count: 900), to: "interview.mp4")
        others = [other, "interview.mp4"]
        for name in others { date(name, at: UTCTime(milliseconds: Self.start - 86_400_000)) }
    }

    /// If the catalogue was written since the last check, sets its modification time to a unique time in the past,
    /// because retention opens no directory whose catalogue was written just now.
    private func dateCatalogue() {
        let attributes = try? FileManager.default.attributesOfItem(atPath: place.path(RecordDirectory.catalogueName))
        guard let date = attributes?[.modificationDate] as? Date, date != dated else { return }
        datings += 1
        dated = Date(timeIntervalSince1970: 1_590_000_000 + Double(datings))
        set(dated, of: RecordDirectory.catalogueName)
    }

    func date(_ name: String, at time: UTCTime) {
        set(Date(timeIntervalSince1970: Double(time.milliseconds) / 1000), of: name)
    }

    private func set(_ date: Date, of name: String) {
        try? FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: place.path(name))
    }

    func note(_ text: String) { trail.append("\(trueSeconds) s: \(text)") }

    static func text(_ rules: RetentionRules?) -> String { rules.map { "\($0)" } ?? "none" }
}
