// SPDX-License-Identifier: Apache-2.0

import Dispatch
import MP4
import Media
import Synchronization
import TestSupport
import Testing

@testable import Library

@Suite("Playlists of random recordings")
struct RangePlaylistPropertyTests {
    /// File `number`, with random fragments. Each lasts an integral number of milliseconds, at most 3 s. The last
    /// fragment may contain audio only.
    private func file(_ number: Int, start: Int64, _ random: inout SeededRandom) -> RangePlaylist.File {
        var (place, time) = (Int64.random(in: 500...5000, using: &random), Timestamp.zero)
        let keyframes = Double.random(in: 0.1...1, using: &random)
        var fragments: [FragmentMap.Fragment] = []
        func add(_ milliseconds: Int64, frames: Int, hasKeyframe: Bool, beginsWithKeyframe: Bool) {
            let bytes = place..<place + Int64.random(in: 1...900, using: &random)
            let keyframe = hasKeyframe ? FragmentMap.Keyframe(bytes: bytes, time: time) : nil
            fragments.append(
                FragmentMap.Fragment(
                    bytes: bytes, start: time, duration: milliseconds * 1_000_000, frames: frames,
                    beginsWithKeyframe: beginsWithKeyframe, keyframe: keyframe))
            (place, time) = (bytes.upperBound, time + .milliseconds(milliseconds))
        }
        for index in 0..<Int.random(in: 1...25, using: &random) {
            let hasKeyframe = index == 0 || Double.random(in: 0...1, using: &random) < keyframes
            let begins = hasKeyframe && (index == 0 || Bool.random(using: &random))
            let length = Int64.random(in: 20...3000, using: &random)
            add(length, frames: 1, hasKeyframe: hasKeyframe, beginsWithKeyframe: begins)
        }
        let tails: [Int64] = [0, 60, 100, 3000]
        let tail = tails.randomElement(using: &random) ?? 0
        if tail > 0 { add(tail, frames: 0, hasKeyframe: false, beginsWithKeyframe: false) }
        return RangePlaylist.File(id: "\(number)", start: start, fragments: fragments, isOpen: false)
    }

    /// Up to three closed files, one after the other, with or without pauses.
    private func files(_ random: inout SeededRandom) -> [RangePlaylist.File] {
        var (files, start) = ([RangePlaylist.File](), 1_795_269_790_123 as Int64)
        for number in 0..<Int.random(in: 1...3, using: &random) {
            files.append(file(number, start: start, &random))
            let pause = Int64.random(in: 1...9000, using: &random)
            start = end(of: files[number]) + (Bool.random(using: &random) ? pause : 0)
        }
        return files
    }

    /// When the last fragment of `file` ends, in milliseconds since 1970.
    private func end(of file: RangePlaylist.File) -> Int64 {
        file.start + (file.fragments.last.map { $0.start.nanoseconds + $0.duration } ?? 0) / 1_000_000
    }

    private func read(
        _ files: [RangePlaylist.File], from: Int64 = 0, to: Int64? = nil, marks: [RangePlaylist.Mark] = []
    ) throws -> ReadPlaylist {
        ReadPlaylist(try #require(RangePlaylist(from: from, to: to).text(files, marks: marks)))
    }

    /// The time range in which each piece of `list` is on air, in milliseconds since 1970, from the piece's first
    /// fragment on.
    private func times(_ list: ReadPlaylist, _ files: [RangePlaylist.File]) throws -> [Range<Int64>] {
        try list.pieces.map { piece in
            let file = try #require(files.first { $0.id == piece.file })
            let first = try #require(file.fragments.first { $0.bytes.lowerBound == piece.bytes.lowerBound })
            let start = file.start + first.start.nanoseconds / 1_000_000
            return start..<start + piece.micros / 1000
        }
    }

    @Test(
        "A playlist's segments cover the files' bytes in order, begin with keyframes and have the files' total length"
    )
    func whole() throws {
        var random = SeededRandom()
        for _ in 0..<200 {
            let files = files(&random)
            let list = try read(files)
            #expect(list.isEnded && !list.isGrowing && list.breaks.count == files.count - 1)
            #expect(list.target == 10)
            var index = 0
            for file in files {
                let pieces = list.pieces.filter { $0.file == file.id }
                #expect(list.dates[index] == file.start && Array(list.pieces[index...].prefix(pieces.count)) == pieces)
                expectWhole(pieces, file)
                index += pieces.count
            }
            #expect(index == list.pieces.count && list.dates.count == files.count)
        }
    }

    private func expectWhole(_ pieces: [ReadPlaylist.Piece], _ file: RangePlaylist.File) {
        let (fragments, frames) = (file.fragments, file.fragments.filter { $0.frames > 0 })
        #expect(pieces.first?.bytes.lowerBound == fragments.first?.bytes.lowerBound)
        #expect(pieces.last?.bytes.upperBound == fragments.last?.bytes.upperBound)
        #expect(pieces.allSatisfy { $0.micros <= 10_000_000 })
        var time = Timestamp.zero
        for (piece, next) in zip(pieces, pieces.dropFirst()) {
            time += .microseconds(piece.micros)
            let first = fragments.first { $0.bytes.lowerBound == next.bytes.lowerBound }
            #expect(piece.bytes.upperBound == next.bytes.lowerBound && first?.start == time)
            let isFull = piece.micros * 1000 + (first?.duration ?? 0) > 10_000_000_000
            #expect(isFull || piece.micros >= 2_000_000 && first?.keyframe != nil)
        }
        var length = frames.reduce(0) { $0 + $1.duration }
        // Audio that ends a little after the frames adds no time, unless it is a piece of its own.
        if let tail = fragments.last, tail.frames == 0 {
            let isPiece = pieces.last?.bytes == tail.bytes
            length += isPiece || tail.duration > 100_000_000 ? tail.duration : 0
        }
        #expect(pieces.reduce(0) { $0 + $1.micros } * 1000 == length)
    }

    @Test("A range's playlist has exactly the segments that overlap the range")
    func ranges() throws {
        var random = SeededRandom()
        for _ in 0..<300 {
            let files = files(&random)
            let whole = try read(files)
            let wholeTimes = try times(whole, files)
            let (first, last) = (files[0].start, end(of: files[files.count - 1]))
            let from = Int64.random(in: first - 3000...last + 3000, using: &random)
            let to = from + Int64.random(in: 1...20_000, using: &random)
            let meets = zip(whole.pieces, wholeTimes).filter { $1.upperBound > from && $1.lowerBound < to }
            guard let text = RangePlaylist(from: from, to: to).text(files) else {
                #expect(meets.isEmpty)
                continue
            }
            let list = ReadPlaylist(text)
            #expect(list.pieces == meets.map(\.0) && list.isEnded)
            #expect(list.breaks == Array(list.dates.keys.sorted().dropFirst()))
            for (index, date) in list.dates { #expect(date == meets[index].1.lowerBound) }
            #expect(Set(list.dates.keys.map { list.pieces[$0].file }) == Set(list.pieces.map(\.file)))
        }
    }

    @Test("A marker is written once, before the segment that contains it, and omitted if no segment does")
    func marks() throws {
        let texts = [
            ("Goal", "Goal"), ("say \"1\"", "say '1'"), ("a\n#EXT-X-ENDLIST\nb", "a #EXT-X-ENDLIST b"),
        ]
        var random = SeededRandom()
        for _ in 0..<200 {
            let files = files(&random)
            let (first, last) = (files[0].start, end(of: files[files.count - 1]))
            let from = Int64.random(in: first..<max(first + 1, last - 200), using: &random)
            let edges = try times(try read(files), files).flatMap { [$0.lowerBound, $0.upperBound - 1, $0.upperBound] }
            let dates = (0..<Int.random(in: 0...12, using: &random)).map { _ in
                let anywhere = Int64.random(in: first - 99...last + 99, using: &random)
                return Bool.random(using: &random) ? edges.randomElement(using: &random) ?? first : anywhere
            }
            let marked = dates.sorted().enumerated().map { index, date in
                let (text, told) = texts[index % texts.count]
                return (mark: RangePlaylist.Mark(date: date, text: "\(text) \(index)"), told: "\(told) \(index)")
            }
            let list = try read(files, from: from, marks: marked.map(\.mark))
            for (piece, time) in zip(list.pieces, try times(list, files)) {
                #expect(piece.marks == marked.filter { time.contains($0.mark.date) }.map(\.told))
            }
            #expect(Set(list.markIDs).count == list.markIDs.count && list.isEnded)
        }
    }

    @Test("The playlist of an open file keeps its segments, and is complete when the file is closed")
    func growing() throws {
        var random = SeededRandom()
        for _ in 0..<100 {
            let whole = file(0, start: 1_795_269_790_123, &random)
            var known: [ReadPlaylist.Piece] = []
            for count in 0...whole.fragments.count {
                var open = whole
                (open.isOpen, open.fragments) = (true, Array(whole.fragments.prefix(count)))
                let list = try read([open])
                #expect(list.isGrowing && !list.isEnded && Array(list.pieces.prefix(known.count)) == known)
                known = list.pieces
            }
            let list = try read([whole])
            #expect(list.isEnded && Array(list.pieces.dropLast()) == known)
        }
    }

    @Test("The playlist of an open file keeps its target duration, even if keyframes are further apart")
    func target() throws {
        let fragments = (0..<30).map { index in
            let bytes = Int64(index) * 100..<Int64(index + 1) * 100
            return FragmentMap.Fragment(
                bytes: bytes, start: .zero + .seconds(index), duration: 1_000_000_000, frames: 25,
                beginsWithKeyframe: index % 8 == 0, keyframe: index % 8 == 0 ? .init(bytes: bytes, time: 0) : nil)
        }
        let targets = try (1...30).map { count in
            let file = RangePlaylist.File(id: "0", start: 0, fragments: Array(fragments.prefix(count)), isOpen: true)
            return try read([file]).target
        }
        #expect(Set(targets).count == 1, "\(targets)")
        let closed = RangePlaylist.File(id: "0", start: 0, fragments: fragments, isOpen: false)
        #expect(try read([closed]).target == targets.last)
    }
}

@Suite("A cache of recent values")
struct RecentValuesTests {
    @Test("A cache keeps the most recently used values, exactly as a simple model does")
    func model() {
        var random = SeededRandom()
        for _ in 0..<300 {
            let limit = Int.random(in: 0...5, using: &random)
            let values = RecentValues<Int, Int>(limit: limit)
            // The least recently used value is the first.
            var kept: [(key: Int, value: Int)] = []
            for step in 0..<100 {
                let key = Int.random(in: 0..<8, using: &random)
                let known = kept.firstIndex { $0.key == key }.map { kept.remove(at: $0) }
                switch Int.random(in: 0..<6, using: &random) {
                case 0: values[key] = nil
                case 1, 2:
                    values[key] = step
                    kept.append((key, step))
                    if kept.count > limit { kept.removeFirst() }
                default:
                    let found = values[key]
                    #expect(found == known?.value)
                    if let known { kept.append(known) }
                }
            }
            for key in 0..<8 {
                let found = values[key]
                #expect(found == kept.first { $0.key == key }?.value)
            }
        }
    }

    @Test("A cache used by several threads returns only values of the requested key, within its size limit")
    func threads() {
        let values = RecentValues<Int, Int>(limit: 5)
        let wrong = Mutex(0)
        DispatchQueue.concurrentPerform(iterations: 8) { thread in
            var random = SeededRandom(seed: UInt64(thread))
            for step in 0..<2000 {
                let key = Int.random(in: 0..<12, using: &random)
                if Bool.random(using: &random) {
                    values[key] = step * 100 + key
                } else if let found = values[key], found % 100 != key {
                    wrong.withLock { $0 += 1 }
                }
            }
        }
        #expect(wrong.withLock { $0 } == 0)
        let kept = (0..<12).count { values[$0] != nil }
        #expect(kept == 5)
    }
}
