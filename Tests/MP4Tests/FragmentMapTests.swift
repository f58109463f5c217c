// SPDX-License-Identifier: Apache-2.0

import Media
import Testing

@testable import MP4

@Suite("Maps of a file's fragments")
struct FragmentMapTests {
    private struct Memory: ByteSource {
        var bytes: [UInt8]

        func size() -> Int64 { Int64(bytes.count) }
        func read(at offset: Int64, count: Int) -> [UInt8] {
            guard offset < bytes.count else { return [] }
            return Array(bytes[Int(offset)..<min(bytes.count, Int(offset) + count)])
        }
    }

    private let track = MovieLayout.Track(
        id: 1, kind: .video, timescale: 30, sampleDescription: [0, 0, 0, 8] + Array("stsd".utf8))

    private var head: [UInt8] {
        MovieBox.openHead
            + MovieBox.open(MovieLayout(timescale: 30, creationTime: 0, tracks: [track], userData: []))
    }

    /// A fragment of three frames of 10 bytes each from `time` on; frame number `key` is a keyframe.
    private func fragment(_ number: UInt32, at time: Int64, key: Int?) -> [UInt8] {
        let samples = (0..<3).map { index in
            SampleEntry(
                decodeTime: time + Int64(index), duration: 1, compositionOffset: 0, size: 10, isSync: index == key)
        }
        let header = Fragment(sequence: number, runs: [.init(track: track, samples: samples)]).encode().header
        return header + [UInt8](repeating: UInt8(number), count: 30)
    }

    @Test("The map of a file has all fragments with times and keyframes, and is extended while the file is written")
    func maps() throws {
        let (one, two) = (fragment(1, at: 0, key: 0), fragment(2, at: 3, key: 1))
        var map = try FragmentMap(Memory(bytes: head + one + two.dropLast(5)))
        #expect(map.fragments.count == 1 && map.end == Int64(head.count + one.count) && map.frames == 3)
        #expect(map.initialisation == head)
        try map.extend(Memory(bytes: head + one + two))
        #expect(map.fragments.count == 2 && map.duration == 200_000_000)
        let second = map.fragments[1]
        #expect(second.start == Timestamp(nanoseconds: 100_000_000) && !second.beginsWithKeyframe)
        let start = Int64(head.count + one.count + two.count - 20)
        #expect(second.keyframe == .init(bytes: start..<start + 10, time: Timestamp(nanoseconds: 133_333_333)))
        #expect(map.fragments[0].beginsWithKeyframe)
    }

    @Test("A file's map ends before a fragment with impossible times or truncated data")
    func hostile() throws {
        let absurd = fragment(1, at: 1 << 59, key: 0)
        #expect(try FragmentMap(Memory(bytes: head + absurd)).fragments.isEmpty)
        let whole = head + fragment(1, at: 0, key: 0)
        for count in 0..<whole.count {
            let map = try? FragmentMap(Memory(bytes: Array(whole[..<count])))
            #expect(map?.fragments.isEmpty ?? true)
        }
        #expect(throws: MP4Failure.self) { try FragmentMap(Memory(bytes: [UInt8](repeating: 0, count: 100))) }
    }
}
