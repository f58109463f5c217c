// SPDX-License-Identifier: Apache-2.0

import Foundation
import Media
import Networking
import PacketSamples
import Testing

@testable import HLS

@Suite struct HLSAddressTests {
    @Test(
        "The address of an HLS output is a directory of this host",
        arguments: [
            ("hls:/var/www/live", "/var/www/live"), ("HLS:live/", "live"), ("hls:/", "/"), ("hls:a b#c", "a b#c"),
        ])
    func location(text: String, path: String) throws {
        #expect(try HLSLocation(text).path == path)
        #expect("\(try HLSLocation(text))" == "hls:\(path)")
    }

    @Test(
        "An invalid address of an HLS output is refused in one sentence",
        arguments: [
            ("hls:", "no directory"), ("hls://host/live", "directory of this host"), ("/var/www", "hls:"),
            ("hls:a\u{0}b", "control"), ("hls:" + String(repeating: "x", count: 5000), "too long"),
        ])
    func refusesLocation(text: String, part: String) {
        let error = #expect(throws: AddressError.self) { try HLSLocation(text) }
        #expect(error?.description.contains(part) == true, "\(error?.description ?? "")")
    }

    @Test("HLS options are parsed; by default segments last 4 s, and the playlist lists six of them")
    func options() throws {
        #expect(try HLSOptions([:]) == HLSOptions())
        #expect(HLSOptions().segmentDuration == .seconds(4) && HLSOptions().listSize == 6)
        let options = try HLSOptions(["segment": "2500ms", "list": "10"])
        #expect(options.segmentDuration == .milliseconds(2500) && options.listSize == 10)
        #expect(try HLSOptions(["segment": "60"]).segmentDuration == .seconds(60))
        #expect(HLSOptions().endList == .program)
        #expect(try HLSOptions(["endlist": "always"]).endList == .always)
    }

    @Test(
        "An invalid value of an HLS option is refused with the option's name",
        arguments: [
            ("segment", "0s"), ("segment", "61s"), ("segment", "4m"), ("segment", ""), ("segment", "-4s"),
            ("segment", "9223372036854775807s"), ("list", "2"), ("list", "1001"), ("list", "x"),
            ("endlist", ""), ("endlist", "Never"),
        ])
    func refusesOption(name: String, value: String) {
        let error = #expect(throws: AddressError.self) { try HLSOptions([name: value]) }
        #expect(error?.description.contains(name) == true, "\(error?.description ?? "")")
    }

    @Test("An unknown HLS option is refused without repeating it")
    func refusesUnknown() {
        let error = #expect(throws: AddressError.self) { try HLSOptions(["secret": "4"]) }
        #expect(error?.description.contains("secret") == false)
    }
}

@Suite struct HLSPlaylistTests {
    private func entry(_ number: Int64, run: Int64 = 7, isDiscontinuous: Bool = false) -> HLSPlaylist.Entry {
        .init(
            name: HLSName.segment(run: run, number: number), map: HLSName.map(run: run), duration: 4_004_000,
            date: 1_795_261_109_603 + number * 4004, isDiscontinuous: isDiscontinuous)
    }

    @Test("An HLS playlist is written in the form that RFC 8216 requires")
    func text() {
        var playlist = HLSPlaylist(targetSeconds: 4)
        _ = playlist.append(entry(0), limit: 6)
        _ = playlist.append(entry(0, run: 8, isDiscontinuous: true), limit: 6)
        playlist.hasEnded = true
        #expect(
            playlist.text == """
                #EXTM3U
                #EXT-X-VERSION:7
                #EXT-X-TARGETDURATION:4
                #EXT-X-MEDIA-SEQUENCE:0
                #EXT-X-DISCONTINUITY-SEQUENCE:0
                #EXT-X-INDEPENDENT-SEGMENTS
                #EXT-X-MAP:URI="relay-7-init.mp4"
                #EXT-X-PROGRAM-DATE-TIME:2026-11-21T11:38:29.603Z
                #EXTINF:4.004000,
                relay-7-0.m4s
                #EXT-X-DISCONTINUITY
                #EXT-X-MAP:URI="relay-8-init.mp4"
                #EXT-X-PROGRAM-DATE-TIME:2026-11-21T11:38:29.603Z
                #EXTINF:4.004000,
                relay-8-0.m4s
                #EXT-X-ENDLIST

                """)
    }

    @Test("Removed segments and discontinuities are counted, and a written playlist is parsed back unchanged")
    func window() throws {
        var playlist = HLSPlaylist(targetSeconds: 4)
        var left: [String] = []
        for number in 0..<10 {
            left += playlist.append(entry(Int64(number), isDiscontinuous: number % 3 == 0), limit: 4).map(\.name)
        }
        #expect(left == (0..<6).map { "relay-7-\($0).m4s" })
        #expect(playlist.mediaSequence == 6 && playlist.discontinuitySequence == 2)
        #expect(HLSPlaylist(parsing: playlist.text) == playlist)
        playlist.hasEnded = true
        #expect(HLSPlaylist(parsing: playlist.text) == playlist)
    }

    @Test("A segment longer than the target duration raises it, and the target duration never decreases")
    func target() {
        var playlist = HLSPlaylist(targetSeconds: 4)
        var long = entry(0)
        long.duration = 5_500_000
        _ = playlist.append(long, limit: 3)
        for number in 1..<9 { _ = playlist.append(entry(Int64(number)), limit: 3) }
        #expect(playlist.targetSeconds == 6)
    }

    @Test(
        "A playlist that relay did not write is not parsed",
        arguments: [
            "", "x", "#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXTINF:4.0,\nother.ts\n",
            "#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXT-X-MAP:URI=\"../x\"\n#EXTINF:4.000000,\nrelay-1-1.m4s\n",
            "#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXT-X-MAP:URI=\"relay-1-init.mp4\"\nrelay-1-1.m4s\n",
            "#EXTM3U\n#EXT-X-TARGETDURATION:99999999999\n", "#EXTM3U\n#EXT-X-MEDIA-SEQUENCE:9223372036854775807\n",
            "#EXTM3U\n#EXT-X-MEDIA-SEQUENCE:-1\n", "#EXTM3U\n#EXT-X-MAP\n#EXTINF\n:\n#EXT-X-PROGRAM-DATE-TIME:-:\n",
        ])
    func foreign(text: String) {
        #expect(HLSPlaylist(parsing: text) == nil)
    }

    @Test(
        "Only file names that relay makes count as relay's files",
        arguments: [
            ("relay-1-init.mp4", true), ("relay-1795261109522036-12.m4s", true), ("relay-1-2.m4s.tmp", true),
            ("relay-1-x.m4s", false), ("relay-1-2.mp4", false), ("relay-1.m4s", false), ("xrelay-1-2.m4s", false),
            ("../relay-1-2.m4s", false), ("relay-1-2.m4s/", false), ("relay--2.m4s", false), ("relay-1-.m4s", false),
            ("relay-1-2-3.m4s", false), ("index.m3u8", false), ("relay-１-2.m4s", false), ("", false),
        ])
    func names(name: String, isOurs: Bool) {
        #expect(HLSName.isOurs(name) == isOurs)
    }

    @Test("A date in a playlist is written in UTC and parsed back, and a damaged one is refused")
    func dates() {
        #expect(HLSDate.text(milliseconds: 951_827_696_789) == "2000-02-29T12:34:56.789Z")
        #expect(HLSDate.milliseconds("2000-02-29T12:34:56.789Z") == 951_827_696_789)
        #expect(HLSDate.milliseconds("2000-02-29") == nil)
        // A damaged date of 24 bytes whose numbers are too large, and one with a month that does not exist.
        #expect(HLSDate.milliseconds("2147483647-1-1T1:1:1.01Z") == nil)
        #expect(HLSDate.milliseconds("2000-13-01T12:34:56.789Z") == nil)
    }
}

@Suite struct HLSCutterTests {
    private static let frame = Duration.milliseconds(40)

    /// Cuts a program of `seconds` with keyframes at these frames; returns the segments' lengths in frames.
    private func cuts(
        _ target: Duration, seconds: Int64, keyframes: (Int64) -> Bool, missing: Range<Int64> = 0..<0
    ) -> (lengths: [Int64], asked: Int, discontinuous: Int) {
        var cutter = HLSCutter(target: target)
        var result: (lengths: [Int64], asked: Int, discontinuous: Int) = ([], 0, 0)
        for index in 0..<seconds * 25 where !missing.contains(index) {
            switch cutter.video(pts: .zero + Self.frame * index, frame: Self.frame, isKeyframe: keyframes(index)) {
            case .cut(let duration, let isDiscontinuous):
                result.lengths.append(duration.inNanoseconds / Self.frame.inNanoseconds)
                if isDiscontinuous { result.discontinuous += 1 }
            case .fragmentAndAsk: result.asked += 1
            default: break
            }
        }
        return result
    }

    @Test("With a segment length of two GOPs, every second keyframe begins a segment, and no keyframe is requested")
    func regular() {
        let result = cuts(.seconds(4), seconds: 21) { $0 % 50 == 0 }
        #expect(result.lengths == [100, 100, 100, 100, 100])
        #expect(result.asked == 0 && result.discontinuous == 0)
    }

    @Test("A keyframe that another output requested may shorten a segment and never lengthens one")
    func extra() {
        let result = cuts(.seconds(4), seconds: 41) { $0 < 275 ? $0 % 50 == 0 : ($0 - 275) % 50 == 0 }
        #expect(result.lengths.allSatisfy { $0 <= 100 })
        #expect(result.lengths.filter { $0 < 100 }.count == 1)
    }

    @Test("A GOP longer than the target duration is not split, but a keyframe is requested")
    func misfit() {
        #expect(cuts(.seconds(4), seconds: 13) { $0 % 75 == 0 }.lengths == [75, 75, 75, 75])
        let long = cuts(.seconds(4), seconds: 21) { $0 % 250 == 0 }
        #expect(long.lengths == [250, 250] && long.asked == 4)
    }

    @Test(
        "Segments return to the target length eight target durations after a GOP that was longer",
        arguments: [[0], [0, 300]])
    func forgets(starts: [Int64]) {
        // GOPs of 1 s, and GOPs of 6 s that begin at these frames.
        let result = cuts(.seconds(4), seconds: 80) { frame in
            frame % 25 == 0 && !starts.contains { $0 < frame && frame < $0 + 150 }
        }
        #expect(result.lengths.suffix(6) == [100, 100, 100, 100, 100, 100], "\(result.lengths)")
        #expect(result.lengths.contains(25))
    }

    @Test("If no keyframe arrives, the HLS output repeats its request each target duration")
    func none() {
        let result = cuts(.seconds(4), seconds: 41) { $0 == 0 }
        #expect(result.lengths.isEmpty && result.asked == 10)
    }

    @Test("If frames are missing before a keyframe, the segment ends with the last frame before the gap")
    func hole() {
        let result = cuts(.seconds(4), seconds: 13, keyframes: { $0 % 50 == 0 }, missing: 130..<150)
        #expect(result.lengths == [100, 30, 100])
        #expect(result.discontinuous == 1)
    }
}

@Suite struct HLSDirectoryTests {
    @Test("An HLS directory is created if its parent exists, serves one output at a time, and keeps all foreign files")
    func directory() throws {
        let path = NSTemporaryDirectory() + "relay-hls-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: path) }
        #expect(throws: (any Error).self) { try HLSDirectory(path + "/a/b") }
        let directory = try HLSDirectory(path)
        #expect(throws: (any Error).self) { try HLSDirectory(path) }
        try directory.write([1, 2, 3], as: HLSName.segment(run: 1, number: 2))
        try directory.write([1], as: "foreign.m4s")
        var unfinished: HLSFile? = try directory.create(HLSName.segment(run: 1, number: 3))
        try unfinished?.write([1])
        #expect(try directory.names().contains("relay-1-3.m4s.tmp"))
        unfinished = nil
        for name in try directory.names() { directory.remove(name) }
        #expect(try directory.names().filter { !$0.hasPrefix(".") } == ["foreign.m4s"])
    }

    @Test("HLS files of an earlier run that players may still request are kept for a while, with their header")
    func leftovers() throws {
        let path = NSTemporaryDirectory() + "relay-hls-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: path) }
        let directory = try HLSDirectory(path)
        let (old, new) = (HLSName.segment(run: 1, number: 0), HLSName.segment(run: 2, number: 0))
        let (oldMap, newMap, named) = (HLSName.map(run: 1), HLSName.map(run: 2), HLSName.segment(run: 2, number: 1))
        for name in [old, oldMap, new, newMap, named, new + HLSName.temporarySuffix, "foreign.m4s"] {
            try directory.write([1], as: name)
        }
        let past = Date(timeIntervalSinceNow: -60)
        for name in [old, oldMap, newMap] {
            try FileManager.default.setAttributes([.modificationDate: past], ofItemAtPath: "\(path)/\(name)")
        }
        let kept = try HLSLeftovers(in: directory).clear(except: [named], lifetime: 52)
        #expect(kept.map(\.names) == [[new, newMap]])
        #expect(kept.allSatisfy { (1...52).contains($0.seconds) })
        let left = Set(try directory.names().filter { !$0.hasPrefix(".") })
        #expect(left == [new, newMap, named, "foreign.m4s"])
    }

    @Test("If no keyframe arrives, frames are written to disk before they fill many megabytes of memory")
    func bounded() throws {
        let path = NSTemporaryDirectory() + "relay-hls-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: path) }
        let writer = try HLSWriter(path, HLSOptions(["segment": "60s"]), Samples.description)
        for index in 0..<Int64(10) {
            try writer.write(Samples.video(pts: index, dts: index, isKeyframe: index == 0, bytes: 1 << 20))
        }
        #expect(writer.bytes > 8 << 20 && writer.segments == 0)
    }

    @Test("A playlist that another program wrote is left unchanged")
    func foreignPlaylist() throws {
        let path = NSTemporaryDirectory() + "relay-hls-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: path) }
        let directory = try HLSDirectory(path)
        #expect(try directory.playlist() == nil)
        try directory.write(Array("#EXTM3U\n#EXTINF:4,\nother.ts\n".utf8), as: HLSName.playlist)
        #expect(throws: (any Error).self) { try directory.playlist() }
    }
}
