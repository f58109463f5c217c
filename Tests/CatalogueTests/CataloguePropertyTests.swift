// SPDX-License-Identifier: Apache-2.0

import Archive
import Foundation
import Media
import TestSupport
import Testing

@testable import Catalogue

/// Checks the results of the catalogue with random recordings.
@Suite("The catalogue with random data")
struct CataloguePropertyTests {
    private static let frame: Int64 = 40_000_000

    /// The program time at which frame `number` begins.
    private static func time(_ number: Int64) -> ProgramInstant { ProgramInstant(nanoseconds: number * frame) }

    private func segment(
        _ name: String, run: String, start: Int64, frames: Int, ending: SegmentEnding, channel: String = "test"
    ) -> CatalogueSegment {
        let length = Int64(frames) * Self.frame
        let start = ProgramInstant(nanoseconds: start)
        let end = start + .nanoseconds(length)
        return CatalogueSegment(
            name: name, channel: channel, sequence: nil, run: run, start: 1_795_269_790_000 + start.milliseconds,
            programStart: start, programEnd: end, wholeEnd: end, lateFrames: 0, frameDuration: Self.frame,
            firstPts: start, lastPts: end - .nanoseconds(Self.frame), duration: length, frames: frames, audioSamples: 0,
            bytes: 1,
            sha256: nil, ending: ending, upload: nil, deleted: nil)
    }

    // MARK: Gaps

    @Test("The gaps between files are found with their numbers of frames, and no other gaps are found")
    func holes() {
        var random = SeededRandom()
        for _ in 0..<200 {
            var segments: [CatalogueSegment] = []
            var expected: [String] = []
            for run in ["a1", "b2"] {
                var place: Int64 = 0
                let count = Int.random(in: 1...8, using: &random)
                for number in 0..<count {
                    let frames = Int.random(in: 1...250, using: &random)
                    let isLast = number == count - 1
                    let ending: SegmentEnding =
                        isLast ? random.pick([.stop, .silent]) : random.pick([.rotate, .silent, .error, .disk])
                    segments.append(
                        segment("\(run)_\(number)", run: run, start: place, frames: frames, ending: ending))
                    let end = place + Int64(frames) * Self.frame
                    let missing = Int.random(in: 0...3, using: &random)
                    // Times are rounded to a nanosecond, in either direction.
                    place = end + Int64(missing) * Self.frame + Int64.random(in: -1...1, using: &random)
                    if missing > 0, !isLast, ending != .silent {
                        expected.append("\(run) from \(end) to \(place): \(missing)")
                    }
                }
            }
            let gaps = GapInference.gaps(in: segments.shuffled(using: &random), living: [])
            let found = gaps.map {
                "\($0.run) from \($0.from.nanoseconds) to \($0.to?.nanoseconds ?? -1): \($0.frames ?? -1)"
            }
            #expect(found.sorted() == expected.sorted())
            #expect(gaps.allSatisfy { !$0.isTold && $0.channel == "test" && !$0.cause.isEmpty })
            #expect(gaps.map(\.start) == gaps.map(\.start).sorted())
        }
    }

    @Test("A run that ended abnormally or at a change of files is followed by a gap of unknown length")
    func suddenEnds() {
        for ending in [SegmentEnding.rotate, .error, .disk, .recovered] {
            let files = [segment("f", run: "a1", start: 0, frames: 25, ending: ending)]
            let gaps = GapInference.gaps(in: files, living: [])
            #expect(
                gaps.map(\.from) == [1_000_000_000] && gaps.first?.to == nil && gaps.first?.frames == nil, "\(ending)")
            #expect(GapInference.gaps(in: files, living: ["a1"]).isEmpty == (ending == .rotate), "\(ending)")
        }
        for ending in [SegmentEnding.stop, .silent] {
            let files = [segment("f", run: "a1", start: 0, frames: 25, ending: ending)]
            #expect(GapInference.gaps(in: files, living: []).isEmpty, "\(ending)")
        }
        // Runs of two channels that have the same name are independent of each other.
        let two = [
            segment("f", run: "a1", start: 0, frames: 25, ending: .stop),
            segment("g", run: "a1", start: 9_000_000_000, frames: 25, ending: .stop, channel: "other"),
        ]
        #expect(GapInference.gaps(in: two, living: []).isEmpty)
    }

    @Test("Adjacent gaps are merged into one with all of their frames, and gaps apart from each other stay separate")
    func joined() {
        var random = SeededRandom()
        for _ in 0..<300 {
            var gaps: [CatalogueGap] = []
            var (place, stretches): (Int64, Int) = (0, 0)
            for number in 0..<Int.random(in: 0...8, using: &random) {
                let touches = number > 0 && Bool.random(using: &random)
                if !touches {
                    place += Int64.random(in: 1...5, using: &random) * Self.frame
                    stretches += 1
                }
                let frames = Int.random(in: 1...9, using: &random)
                let end = place + Int64(frames) * Self.frame
                gaps.append(
                    CatalogueGap(
                        channel: "test", run: "a1", start: place / 1_000_000, from: ProgramInstant(nanoseconds: place),
                        to: ProgramInstant(nanoseconds: end), frames: frames, cause: random.pick(["slow", "full"]),
                        isTold: true))
                place = end
            }
            let joined = CatalogueGap.joined(gaps.shuffled(using: &random))
            #expect(joined.count == stretches)
            #expect(joined.reduce(0) { $0 + ($1.frames ?? 0) } == gaps.reduce(0) { $0 + ($1.frames ?? 0) })
            #expect(joined.first?.from == gaps.first?.from && joined.last?.to == gaps.last?.to)
            #expect(CatalogueGap.joined(joined) == joined)
            for (before, after) in zip(joined, joined.dropFirst()) {
                #expect((before.to ?? .distantFuture) < after.from)
            }
            for gap in gaps { #expect(joined.count { $0.overlaps(gap) } == 1) }
        }
    }

    @Test("Overlapping gaps are merged into one that ends with the later gap, and shared frames count once")
    func joinedOverlaps() {
        func gap(_ from: Int64, _ to: Int64?, frames: Int?) -> CatalogueGap {
            CatalogueGap(
                channel: "test", run: "a1", start: from * Self.frame / 1_000_000, from: Self.time(from),
                to: to.map(Self.time), frames: frames, cause: "slow", isTold: true)
        }
        let whole = gap(10, 50, frames: 40)
        #expect(CatalogueGap.joined([whole, gap(20, 30, frames: 10)]) == [whole])
        #expect(CatalogueGap.joined([whole, gap(20, 30, frames: nil)]) == [whole])
        #expect(CatalogueGap.joined([whole, gap(20, 50, frames: nil), gap(20, 30, frames: 10)]) == [whole])
        #expect(CatalogueGap.joined([gap(10, 20, frames: 10), whole]) == [whole])
        #expect(CatalogueGap.joined([whole, gap(20, 50, frames: 30)]) == [whole])
        #expect(CatalogueGap.joined([gap(10, 30, frames: 20), gap(20, 50, frames: 30)]) == [whole])
        #expect(CatalogueGap.joined([gap(10, 30, frames: nil), gap(20, 50, frames: 30)]) == [gap(10, 50, frames: nil)])
        // A gap that contains another gap is followed by a third one.
        #expect(
            CatalogueGap.joined([whole, gap(20, 30, frames: 10), gap(50, 60, frames: 10)])
                == [gap(10, 60, frames: 50)])
        // The end of the program is not known.
        let endless = gap(20, nil, frames: nil)
        #expect(CatalogueGap.joined([gap(10, 20, frames: 10), endless]) == [gap(10, nil, frames: nil)])
    }

    @Test("Two gaps overlap if a frame of the same run is missing in both, whichever is compared first")
    func overlaps() {
        var random = SeededRandom()
        func gap(_ run: String, _ from: Int64, _ to: Int64?) -> CatalogueGap {
            CatalogueGap(
                channel: "test", run: run, start: 0, from: Self.time(from), to: to.map(Self.time),
                frames: nil,
                cause: "", isTold: false)
        }
        for _ in 0..<1000 {
            let (from, other) = (Int64.random(in: 0...10, using: &random), Int64.random(in: 0...10, using: &random))
            let length = Int64.random(in: 1...5, using: &random)
            let isOpen = Bool.random(using: &random)
            let (one, two) = (gap("a", from, from + length), gap("a", other, isOpen ? nil : other + 2))
            let isShared = from < (isOpen ? 100 : other + 2) && other < from + length
            #expect(one.overlaps(two) == isShared && two.overlaps(one) == isShared)
            #expect(!one.overlaps(gap("b", other, nil)))
        }
    }

    // MARK: Scenes

    private static let words = ["cam1", "a", "x-y", "file.mp4", "p_1", "0"]

    private func scene(_ random: inout SeededRandom) -> SceneEvent {
        let values = ["", "a b", "50%", "%41", "ä\u{1F3A5}", "\u{0}\n", "=", "x=1.5s", "(fade 1 s)", ": "]
        var details: [String] = []
        for key in ["file", "in", "fit"] where Bool.random(using: &random) {
            details.append(SceneEvent.detail(key, random.pick(values)))
        }
        var sources: [String] = []
        for _ in 0..<Int.random(in: 0...4, using: &random) { sources.append(random.pick(Self.words)) }
        let names: [String?] = [nil, "duo", "my-scene_2", "a.b"]
        let runs: [String?] = [nil, "3f2a", "0"]
        let seconds: [Double?] = [nil, 0.5, 1, 12.25]
        return SceneEvent(
            name: random.pick(names), layout: random.pick(["pip", "single", "split-vertical"]), sources: sources,
            frame: Int64.random(in: 0...Int64.max, using: &random), run: random.pick(runs),
            transition: random.pick(["cut", "fade", "wipe-left", "stinger big.one"]), seconds: random.pick(seconds),
            details: details)
    }

    @Test("A scene event is parsed back unchanged from its JSON and from its text")
    func scenes() throws {
        var random = SeededRandom()
        for _ in 0..<500 {
            let event = scene(&random)
            #expect(try SceneEvent(json: event.json()) == event)
            #expect(SceneEvent(words: event.text) == event, "\(event.text)")
        }
    }

    @Test("The detail of a scene event may be any text, and is written as one word")
    func details() {
        var random = SeededRandom()
        let pieces = ["a", " ", "%", "%4", "=", "é", "\u{1F3A5}", "\u{0}", "\n", "(", ")", ":", "+", "e\u{301}"]
        for _ in 0..<1000 {
            let value = random.text(of: pieces, upTo: 8)
            let word = SceneEvent.detail("key", value)
            #expect(word.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }, "\(word)")
            let event = SceneEvent(
                name: nil, layout: "pip", sources: [], frame: 0, transition: "cut",
                details: ["other=1", word, "keys=2"])
            #expect(event.detail("key").map { Array($0.utf8) } == Array(value.utf8))
            #expect(event.detail("ke") == nil && event.detail("keys") == "2")
        }
    }

    @Test("A damaged scene event is parsed as another scene or refused, and never crashes the process")
    func damagedScenes() throws {
        var random = SeededRandom()
        for _ in 0..<500 {
            let event = scene(&random)
            let json = try event.json()
            for text in [event.text, json] {
                var bytes = Array(text.utf8)
                for _ in 0..<Int.random(in: 1...3, using: &random) {
                    let place = Int.random(in: bytes.indices, using: &random)
                    bytes[place] = random.pick(Array(" :()=%0aZ\"{}[],".utf8))
                }
                let damaged = String(decoding: bytes, as: UTF8.self)
                _ = SceneEvent(words: damaged)
                _ = SceneEvent(json: damaged)
            }
        }
    }

    // MARK: Marks

    @Test("All channels that ever uploaded are marked, and the mark of one channel can be removed")
    func uploadMarks() throws {
        let directory = try TemporaryDirectory()
        let channels: Set = ["main", "main-cam1", "a.b", "-", "x.lock", "unknown"]
        for channel in channels { try directory.write([UInt8](), to: UploadMark.lockName(of: channel)) }
        #expect(try UploadMark.uploadedChannels(in: directory.path) == channels)
        #expect(try UploadMark.channels(in: directory.path).isEmpty)
        try UploadMark.setAll(in: directory.path)
        try UploadMark.setAll(in: directory.path)
        #expect(try UploadMark.channels(in: directory.path) == channels)
        for channel in channels {
            #expect(UploadMark.isSet(for: channel, in: directory.path))
            #expect(UploadMark.wasUploaded(channel, in: directory.path))
        }
        try UploadMark.remove(for: "main", in: directory.path)
        try UploadMark.remove(for: "main", in: directory.path)
        #expect(
            !UploadMark.isSet(for: "main", in: directory.path) && UploadMark.isSet(for: "x.lock", in: directory.path))
        #expect(!UploadMark.wasUploaded("other", in: directory.path))
        #expect(directory.files.isEmpty, "marks are hidden files")
        #expect(throws: FileFailure.self) { try UploadMark.channels(in: directory.path("none")) }
    }

    @Test("A damaged database is listed until its clips are restored, and a mark stays if any clip was lost")
    func clipMarks() throws {
        let directory = try TemporaryDirectory()
        #expect(ClipMark.time(in: directory.path) == nil)
        #expect(try ClipMark.databases(in: directory.path).isEmpty)
        for number in [2, 10, 1] { try ClipMark.begin(number, in: directory.path) }
        try directory.write([UInt8](), to: ".relay-clips.broken-x")
        #expect(try ClipMark.databases(in: directory.path) == [10, 2, 1])
        #expect(ClipMark.time(in: directory.path) != nil)
        try ClipMark.end([10, 2], isWhole: true, in: directory.path)
        #expect(try ClipMark.databases(in: directory.path) == [1])
        #expect(ClipMark.time(in: directory.path) == nil)
        try ClipMark.begin(1, in: directory.path)
        try ClipMark.end([1], isWhole: false, in: directory.path)
        #expect(try ClipMark.databases(in: directory.path).isEmpty)
        #expect(ClipMark.time(in: directory.path) != nil, "an operator takes it away")
        #expect(directory.all.contains(ClipMark.unknown))
    }

    @Test("A mark file gets a new time when it is set again; one that cannot be looked up may exist")
    func markFiles() throws {
        let directory = try TemporaryDirectory()
        let mark = MarkFile(".mark", in: directory.path)
        #expect(!mark.mayExist && mark.time == nil)
        try directory.write([UInt8](), to: ".mark")
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSince1970: 5)], ofItemAtPath: mark.path)
        #expect(mark.mayExist && mark.time == 5000)
        try mark.touch()
        #expect(try #require(mark.time) > 5000)
        try mark.remove()
        try mark.remove()
        #expect(!mark.mayExist && mark.time == nil)
        // A path through a regular file leads to no file, but the system reports another error than for a missing file.
        try directory.write([UInt8](), to: "file")
        let unknown = MarkFile(".mark", in: directory.path("file"))
        #expect(unknown.mayExist && unknown.time == .max)
        #expect(throws: FileFailure.self) { try unknown.touch() }
        #expect(throws: FileFailure.self) { try unknown.remove() }
    }

    @Test("A file's checksum covers all bytes of any number of blocks, and its progress is reported")
    func checksums() throws {
        let directory = try TemporaryDirectory()
        // The checksums of an empty file and of "abc" (examples of FIPS 180-4).
        let known = [
            ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        ]
        for (text, sum) in known {
            try directory.write(Array(text.utf8), to: "file")
            #expect(try Checksum.of(directory.path("file")) == sum)
        }
        var sums: Set<String> = []
        for size in [Checksum.blockSize - 1, Checksum.blockSize, Checksum.blockSize + 1, 2 * Checksum.blockSize] {
            try directory.write([UInt8](repeating: 0, count: size), to: "file")
            var told: [Int64] = []
            let sum = try Checksum.of(directory.path("file")) { told.append($0) }
            sums.insert(sum)
            #expect(told.last == Int64(size) && told == told.sorted(), "\(size)")
        }
        #expect(sums.count == 4)
        #expect(throws: FileFailure.self) { try Checksum.of(directory.path("none")) }
    }
}
