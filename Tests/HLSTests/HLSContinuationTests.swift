// SPDX-License-Identifier: Apache-2.0

import Foundation
import Media
import PacketSamples
import TestSupport
import Testing

@testable import HLS

/// RFC 8216, 6.2.2, for a playlist that drops its oldest segments.
@Suite struct HLSWindowTests {
    private func entry(_ number: Int64, seconds: Int64) -> HLSPlaylist.Entry {
        .init(
            name: HLSName.segment(run: 7, number: number), map: HLSName.map(run: 7), duration: seconds * 1_000_000,
            date: 1_795_261_109_603 + number * 1000, isDiscontinuous: false)
    }

    @Test("A playlist of short segments keeps at least three target durations, even if its configured size is smaller")
    func shortSegments() {
        var playlist = HLSPlaylist(targetSeconds: 4)
        for number in 0..<40 { _ = playlist.append(entry(Int64(number), seconds: 1), limit: 3) }
        #expect(playlist.entries.count == 12 && playlist.mediaSequence == 28)
        #expect(HLSPlaylist(parsing: playlist.text) == playlist)
    }

    @Test("A long segment stays in the playlist until the segments after it last three target durations")
    func longSegment() {
        var playlist = HLSPlaylist(targetSeconds: 4)
        _ = playlist.append(entry(0, seconds: 10), limit: 3)
        for number in 1...29 { #expect(playlist.append(entry(Int64(number), seconds: 1), limit: 3).isEmpty) }
        #expect(playlist.append(entry(30, seconds: 1), limit: 3).map(\.name) == ["relay-7-0.m4s"])
    }

    @Test("A playlist of very short segments does not exceed its maximum length, and can be parsed")
    func bounded() {
        var playlist = HLSPlaylist(targetSeconds: 3600)
        for number in 0..<4500 { _ = playlist.append(entry(Int64(number), seconds: 1), limit: 3) }
        #expect(playlist.entries.count == HLSPlaylist.maximumEntries)
        #expect(playlist.text.utf8.count < 1 << 20)
        #expect(HLSPlaylist(parsing: playlist.text) == playlist)
    }

    @Test("A removed segment's file is kept for the segment's duration plus that of the longest playlist that had it")
    func expiry() {
        var (playlist, expiry) = (HLSPlaylist(targetSeconds: 4), HLSExpiry())
        // Three segments of 4 s, then short ones: the longest playlist with the first segment lasts 15 s.
        for number in 0..<6 {
            let first = playlist.mediaSequence
            let left = playlist.append(entry(Int64(number), seconds: number < 3 ? 4 : 1), limit: 3)
            expiry.retire(left, first: first, at: 100_000_000_000)
            expiry.publish(playlist)
        }
        #expect(playlist.entries.count == 6 && expiry.names.isEmpty)
        let left = playlist.append(entry(6, seconds: 1), limit: 3)
        #expect(left.map(\.name) == ["relay-7-0.m4s"])
        expiry.retire(left, first: 0, at: 100_000_000_000)
        expiry.publish(playlist)
        #expect(expiry.takeDue(at: 118_999_999_999).isEmpty)
        #expect(expiry.takeDue(at: 119_000_000_000) == ["relay-7-0.m4s", "relay-7-init.mp4"])
        #expect(expiry.names.isEmpty)
    }

    @Test("A header file is kept until the last segment that needs it was removed")
    func header() {
        var expiry = HLSExpiry()
        expiry.retire(["relay-7-0.m4s", "relay-7-init.mp4"], due: 10)
        expiry.retire(["relay-7-1.m4s", "relay-7-init.mp4"], due: 20)
        #expect(expiry.takeDue(at: 10) == ["relay-7-0.m4s"])
        #expect(expiry.takeDue(at: 20) == ["relay-7-1.m4s", "relay-7-init.mp4"])
    }
}

/// Tests how one run of an output continues another.
@Suite struct HLSContinuationTests {
    private let path = NSTemporaryDirectory() + "relay-hls-\(UUID().uuidString)"
    private let clock = ManualClock()

    private var playlist: HLSPlaylist? {
        (try? String(contentsOfFile: "\(path)/index.m3u8", encoding: .utf8)).flatMap { HLSPlaylist(parsing: $0) }
    }

    /// The files that the playlist names but that do not exist.
    private var missing: [String] {
        (playlist?.names ?? []).filter { !FileManager.default.fileExists(atPath: "\(path)/\($0)") }
    }

    private func has(_ name: String) -> Bool { FileManager.default.fileExists(atPath: "\(path)/\(name)") }

    private func options(_ values: [String: String] = [:]) throws -> HLSOptions {
        try HLSOptions(["segment": "1s", "list": "3"].merging(values) { $1 })
    }

    /// One run of whole `seconds`, with one segment per second.
    private func run(
        seconds: Int64, isProgramOver: Bool = false, options values: [String: String] = [:]
    ) throws {
        let writer = try HLSWriter(path, options(values), Samples.description, clock: clock)
        for index in 0..<seconds * 30 {
            if index % 30 == 0, index > 0 { clock.advance(by: .seconds(1)) }
            try writer.write(Samples.video(pts: index, dts: index, isKeyframe: index % 30 == 0))
        }
        try writer.finish(isProgramOver: isProgramOver)
    }

    @Test("After a normal restart the playlist and its numbering continue, and its files are kept")
    func cleanRestart() throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        try run(seconds: 5)
        let before = try #require(playlist)
        #expect(!before.hasEnded && before.mediaSequence == 2 && before.entries.count == 3)
        try run(seconds: 2)
        let after = try #require(playlist)
        #expect(!after.hasEnded && after.mediaSequence == 4 && after.entries.count == 3)
        #expect(after.entries.map(\.isDiscontinuous) == [false, true, false])
        #expect(after.entries[0] == before.entries[2])
        #expect(missing.isEmpty)
        // A file that left the playlist still exists for clients with the previous playlist.
        #expect(before.names.allSatisfy(has))
        try run(seconds: 3)
        #expect(playlist?.discontinuitySequence == 1 && playlist?.mediaSequence == 7)
        #expect(playlist?.entries.map(\.isDiscontinuous) == [true, false, false])
    }

    @Test("An HLS output in the directory of an ended playlist continues the numbering, and removes no file at once")
    func afterTheEnd() throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        try run(seconds: 5, isProgramOver: true)
        let before = try #require(playlist)
        #expect(before.hasEnded && before.mediaSequence == 2)
        try run(seconds: 1)
        let after = try #require(playlist)
        #expect(!after.hasEnded && after.mediaSequence == 5 && after.entries.map(\.isDiscontinuous) == [true])
        #expect(before.names.allSatisfy(has))
        #expect(missing.isEmpty)
    }

    @Test("A playlist that is too old for any player is replaced, but its numbering continues")
    func stale() throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        try run(seconds: 3)
        let past = Date(timeIntervalSinceNow: -60)
        for name in try FileManager.default.contentsOfDirectory(atPath: path) {
            try FileManager.default.setAttributes([.modificationDate: past], ofItemAtPath: "\(path)/\(name)")
        }
        try run(seconds: 1)
        #expect(playlist?.mediaSequence == 3 && playlist?.entries.map(\.isDiscontinuous) == [true])
    }

    @Test(
        "The option endlist= decides whether the playlist gets an end tag at the program's end and at other ends",
        arguments: [
            ("program", true, true), ("program", false, false), ("always", false, true), ("always", true, true),
            ("never", true, false), ("never", false, false),
        ])
    func endList(option: String, isProgramOver: Bool, isClosed: Bool) throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        try run(seconds: 2, isProgramOver: isProgramOver, options: ["endlist": option])
        #expect(playlist?.hasEnded == isClosed && playlist?.entries.count == 2)
    }

    @Test("Files of removed segments are kept as long as RFC 8216, 6.2.2, requires, and are then removed")
    func expiry() throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        let writer = try HLSWriter(path, options(), Samples.description, clock: clock)
        func write(_ seconds: Range<Int64>, advancing: Bool) throws {
            for index in seconds.lowerBound * 30..<seconds.upperBound * 30 {
                if index % 30 == 0, advancing { clock.advance(by: .seconds(1)) }
                try writer.write(Samples.video(pts: index, dts: index, isKeyframe: index % 30 == 0))
            }
        }
        // A burst: no time passes for a player, so no file may be removed, however many segments come.
        try write(0..<12, advancing: false)
        let first = try #require(
            try FileManager.default.contentsOfDirectory(atPath: path).first { $0.hasSuffix("-0.m4s") })
        #expect(playlist?.entries.count == 3 && playlist?.mediaSequence == 8)
        try write(12..<15, advancing: true)
        #expect(has(first))
        try write(15..<17, advancing: true)
        #expect(!has(first) && missing.isEmpty)
    }
}
