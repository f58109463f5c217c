// SPDX-License-Identifier: Apache-2.0

import Archive
import Foundation
import Media
import RecordingSamples
import Segmenter
import Synchronization
import TestSupport
import Testing

@testable import Library
@testable import MP4

@Suite("Identifiers, cache and deletion tokens of recordings")
struct RecordingsControlTests {
    @Test(
        "A recording's identifier has only characters allowed in URLs, and is converted back to the file name",
        arguments: ["main_20261121T140310.123Z_000001.mp4", "2026/11/21/ä ö?.mp4", "a"])
    func identifiers(name: String) {
        let id = RecordingID.id(of: name)
        #expect(id.utf8.allSatisfy { $0 != 47 && $0 != 43 && $0 != 61 })
        #expect(RecordingID.name(of: id) == name)
    }

    @Test(
        "An invalid identifier is not converted to a file name",
        arguments: ["", "../x", "a=b", "YQ==", "YR", "%2e%2e", "//"])
    func foreign(id: String) { #expect(RecordingID.name(of: id) == nil) }

    @Test("A cache keeps the values that were requested last")
    func recent() {
        let values = RecentValues<Int, String>(limit: 2)
        values[1] = "one"
        values[2] = "two"
        #expect(values[1] == "one")
        values[3] = "three"
        #expect(values[2] == nil && values[1] == "one" && values[3] == "three")
    }

    @Test("A deletion token is valid once, for one recording, and for a minute")
    func tokens() {
        let plans = DeletionPlans()
        let files = [DeletedRecording(id: "a", name: "a.mp4", bytes: 5)]
        let now = ContinuousClock.now
        let token = plans.add(files, for: .recording(id: "a"), now: now)
        #expect(plans.take(token, for: .recording(id: "b"), now: now) == nil)
        #expect(plans.take(token, for: .room(bytes: 5), now: now) == nil)
        #expect(plans.take(token, for: .recording(id: "a"), now: now)?.files == files)
        #expect(plans.take(token, for: .recording(id: "a"), now: now) == nil)
        let late = plans.add(files, for: .room(bytes: 5), now: now)
        #expect(plans.take(late, for: .room(bytes: 5), now: now + .seconds(61)) == nil)
        #expect(Set((0..<50).map { _ in plans.add([], for: .room(bytes: 1)) }).count == 50)
    }
}

@Suite("Recordings that are held")
struct HeldRecordingTests {
    private let place: TemporaryDirectory
    private let directory: RecordDirectory
    private let archive: ChannelArchive
    private let name = "main_20261121T140310.123Z_000001.ts"

    init() throws {
        place = try TemporaryDirectory()
        directory = try .prepare(place.path)
        archive = ChannelArchive(place.path, channel: "main")
    }

    @Test("A hold during a deletion does not report success if the file was deleted")
    func raced() throws {
        try place.write(SampleRecording.streamHead(of: "main"), to: name)
        // The test holds the file's lock, as a deletion does that has found no mark.
        var deletion: FileDescriptor? = try FileDescriptor.open(existing: place.path(name))
        #expect(deletion?.lock() == true)
        let holder = Holder(archive)
        holder.hold(RecordingID.id(of: name))
        try eventually("the mark is there") { HoldMark.isSet(of: name, in: directory) }
        try FileManager.default.removeItem(atPath: place.path(name))
        #expect(holder.answer == nil)
        deletion = nil
        try eventually("the hold is answered") { holder.answer != nil }
        #expect(holder.answer == "notFound")
        #expect(try HoldMark.names(in: directory).isEmpty)
    }

    @Test("A hold that fails does not remove the hold mark of a file that exists")
    func failed() throws {
        try place.write(SampleRecording.streamHead(of: "main"), to: name)
        let deletion = try FileDescriptor.open(existing: place.path(name))
        #expect(deletion.lock())
        let holder = Holder(archive)
        holder.hold(RecordingID.id(of: name))
        try eventually("the mark is there") { HoldMark.isSet(of: name, in: directory) }
        // The file now shows another channel, so the request fails.
        try place.write(SampleRecording.streamHead(of: "other"), to: name)
        try eventually("the hold is answered") { holder.answer != nil }
        #expect(holder.answer == "notFound")
        #expect(HoldMark.isSet(of: name, in: directory))
        deletion.unlock()
    }

    @Test("A file can be held while it is being written and later, and is not deleted while it is held")
    func held() throws {
        try place.write(SampleRecording.streamHead(of: "main"), to: name + ".part")
        let open = try FileDescriptor.open(existing: place.path(name + ".part"))
        #expect(open.lock())
        try archive.setHold(true, of: RecordingID.id(of: name))
        try FileManager.default.moveItem(atPath: place.path(name + ".part"), toPath: place.path(name))
        open.unlock()
        try archive.setHold(true, of: RecordingID.id(of: name))
        #expect(throws: Refusal.self) { try archive.planDeletion(of: RecordingID.id(of: name)) }
        try archive.setHold(false, of: RecordingID.id(of: name))
        #expect(try HoldMark.names(in: directory).isEmpty)
    }

    /// Holds a file on a thread of its own.
    private final class Holder: Sendable {
        private let archive: ChannelArchive
        private let state = Mutex<String?>(nil)
        var answer: String? { state.withLock { $0 } }

        init(_ archive: ChannelArchive) { self.archive = archive }

        func hold(_ id: String) {
            Thread { [self] in
                let answer: String
                do throws(Refusal) {
                    try archive.setHold(true, of: id)
                    answer = "held"
                } catch {
                    answer = "\(error.kind)"
                }
                state.withLock { $0 = answer }
            }.start()
        }
    }
}

@Suite("Playlists of recordings")
struct RangePlaylistTests {
    /// A file with fragments of half a second and a keyframe every two seconds.
    private func file(_ id: String, start: Int64, seconds: Int, isOpen: Bool = false) -> RangePlaylist.File {
        let fragments = (0..<seconds * 2).map { index in
            let isKey = index % 4 == 0
            let place = 1000 + Int64(index) * 100
            let start = Timestamp.zero + .milliseconds(500 * index)
            return FragmentMap.Fragment(
                bytes: place..<place + 100, start: start, duration: 500_000_000, frames: 15,
                beginsWithKeyframe: isKey,
                keyframe: isKey ? .init(bytes: place + 20..<place + 40, time: start) : nil)
        }
        return RangePlaylist.File(id: id, start: start, fragments: fragments, isOpen: isOpen)
    }

    private func lines(_ text: String?) -> [String] { (text ?? "").split(separator: "\n").map(String.init) }

    @Test("A range's playlist has the segments that overlap it, and a discontinuity between files")
    func range() {
        let files = [file("one", start: 0, seconds: 10), file("two", start: 10_000, seconds: 10)]
        let text = lines(RangePlaylist(from: 7_000, to: 13_000).text(files))
        #expect(
            text.filter { $0.hasPrefix("#EXT-X-BYTERANGE") } == [
                "#EXT-X-BYTERANGE:400@2200", "#EXT-X-BYTERANGE:400@2600", "#EXT-X-BYTERANGE:400@1000",
                "#EXT-X-BYTERANGE:400@1400",
            ])
        #expect(
            text.filter { $0.hasPrefix("#EXT-X-MAP") } == [
                "#EXT-X-MAP:URI=\"recordings/one/init.mp4\"", "#EXT-X-MAP:URI=\"recordings/two/init.mp4\"",
            ])
        #expect(text.count { $0 == "#EXT-X-DISCONTINUITY" } == 1)
        #expect(text.contains("#EXT-X-PROGRAM-DATE-TIME:1970-01-01T00:00:06.000Z"))
        #expect(text.contains("#EXTINF:2.000000,") && text.last == "#EXT-X-ENDLIST")
        #expect(text.contains("#EXT-X-PLAYLIST-TYPE:VOD"))
    }

    @Test("A playlist of an open file has its complete segments, and no end tag")
    func growing() {
        let open = file("open", start: 0, seconds: 5, isOpen: true)
        let text = lines(RangePlaylist(from: 0, to: nil).text([open]))
        #expect(text.count { $0.hasPrefix("#EXT-X-BYTERANGE") } == 2)
        #expect(text.contains("#EXT-X-PLAYLIST-TYPE:EVENT") && !text.contains("#EXT-X-ENDLIST"))
        let ended = lines(RangePlaylist(from: 0, to: 4_500).text([open]))
        #expect(ended.count { $0.hasPrefix("#EXT-X-BYTERANGE") } == 3 && ended.last == "#EXT-X-ENDLIST")
    }

    @Test("Each marker is a date range before the segment that contains it, with its own ID even if dates are equal")
    func marks() {
        let files = [file("one", start: 0, seconds: 10), file("two", start: 10_500, seconds: 10)]
        let marks = [(500, "out"), (8_000, "a"), (8_000, "b"), (10_200, "gap"), (10_500, "c"), (13_000, "d")]
            .map { RangePlaylist.Mark(date: $0.0, text: $0.1) }
        let text = lines(RangePlaylist(from: 7_000, to: 12_000).text(files, marks: marks))
        let ranges = text.filter { $0.hasPrefix("#EXT-X-DATERANGE") }
        #expect(ranges.map { $0.suffix(3) } == ["\"a\"", "\"b\"", "\"c\""])
        #expect(ranges[0].contains("ID=\"marker-8000-0\"") && ranges[1].contains("ID=\"marker-8000-1\""))
        #expect(ranges[2].contains("START-DATE=\"1970-01-01T00:00:10.500Z\""))
        let place = text.firstIndex(of: ranges[0]) ?? 0
        #expect(text[place - 1].hasPrefix("recordings/one/") && text[place + 2].hasPrefix("#EXTINF"))
    }

    @Test("A range without files has no playlist")
    func nothing() {
        #expect(RangePlaylist(from: 0, to: 1000).text([]) == nil)
        #expect(RangePlaylist(from: 20_000, to: 30_000).text([file("one", start: 0, seconds: 10)]) == nil)
    }
}
