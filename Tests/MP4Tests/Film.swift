// SPDX-License-Identifier: Apache-2.0

import Media

@testable import MP4

/// A file in memory that counts the bytes that are read.
final class CountingSource: ByteSource {
    private let bytes: [UInt8]
    private(set) var count = 0
    /// Whether no read had a negative offset or size.
    private(set) var isFair = true

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    func size() -> Int64 { Int64(bytes.count) }

    func read(at offset: Int64, count: Int) -> [UInt8] {
        isFair = isFair && offset >= 0 && count >= 0
        guard offset >= 0, count >= 0, offset < bytes.count else { return [] }
        let found = bytes[Int(offset)..<Int(min(Int64(bytes.count), offset + Int64(count)))]
        self.count += found.count
        return Array(found)
    }
}

/// A fragmented file and its content.
struct Film {
    static var tracks: [MovieLayout.Track] {
        let description = PlainBox.box("stsd", PlainBox.u32(0))
        return [
            MovieLayout.Track(id: 1, kind: .video, timescale: 90_000, sampleDescription: description),
            MovieLayout.Track(id: 2, kind: .audio, timescale: 48_000, sampleDescription: description),
        ]
    }
    /// The bytes before the first fragment.
    static var head: [UInt8] {
        let layout = MovieLayout(timescale: 48_000, creationTime: 0, tracks: tracks, userData: [])
        return MovieBox.openHead + MovieBox.open(layout)
    }

    private(set) var bytes = Film.head
    private(set) var fragments: [Range<Int64>] = []
    private(set) var samples: [UInt32: [PlainSample]] = [:]
    private(set) var skipped: Int64 = 0

    /// Consecutive fragments, each preceded by up to `junk` other bytes.
    init(fragments count: Int, junk: Int = 0, using random: inout SplitMix64) {
        for number in 1...count {
            let skipped = Int.random(in: 0...junk, using: &random)
            self.skipped += Int64(skipped)
            bytes += [UInt8](repeating: 0x6D, count: skipped)
            var runs: [(id: UInt32, samples: [PlainSample])] = []
            for track in Self.tracks where track.id == 1 || Bool.random(using: &random) {
                runs.append((track.id, run(track, using: &random)))
            }
            append(UInt32(number), runs)
        }
    }

    /// Samples that continue those of `track`, sometimes after a pause.
    private func run(_ track: MovieLayout.Track, using random: inout SplitMix64) -> [PlainSample] {
        var run: [PlainSample] = []
        var time = samples[track.id]?.last.map { $0.time + $0.duration } ?? 0
        if random.one(in: 3) { time += Int64.random(in: 0...90_000 * 3600, using: &random) }
        let usual = Int64.random(in: 1...9000, using: &random)
        for _ in 0..<Int.random(in: 1...6, using: &random) {
            let duration = random.one(in: 4) ? Int64.random(in: 0...9000, using: &random) : usual
            var sample = PlainSample(
                time: time, duration: duration, size: Int64.random(in: 1...30, using: &random))
            if track.kind == .video {
                sample.later = Int64.random(in: -9000...9000, using: &random)
                sample.isSync = random.one(in: 3)
            }
            run.append(sample)
            time += duration
        }
        return run
    }

    private mutating func append(_ number: UInt32, _ runs: [(id: UInt32, samples: [PlainSample])]) {
        let fragment = Fragment(
            sequence: number,
            runs: runs.map { run in
                Fragment.Run(track: Self.tracks[Int(run.id) - 1], samples: run.samples.map(\.entry))
            })
        let (header, offsets) = fragment.encode()
        let start = Int64(bytes.count)
        for (run, offset) in zip(runs, offsets) {
            var (place, known) = (start + Int64(offset), samples[run.id] ?? [])
            // A pause before a fragment extends the sample before it.
            if let first = run.samples.first, let last = known.last {
                known[known.count - 1].duration = first.time - last.time
            }
            for var sample in run.samples {
                sample.place = place
                place += sample.size
                known.append(sample)
            }
            samples[run.id] = known
        }
        let media = runs.flatMap(\.samples).reduce(0) { $0 + Int($1.size) }
        bytes += header + [UInt8](repeating: 1, count: media)
        fragments.append(start..<Int64(bytes.count))
    }
}
