// SPDX-License-Identifier: Apache-2.0

import Media
import Testing

@testable import Program

@Suite("Selection of a file's frames for a constant frame rate")
struct FrameStoreTests {
    private static let storage = FrameBuffer(width: 2, height: 2) {
        $0.initializeMemory(as: UInt8.self, repeating: 0)
    }

    private func frame(_ pts: Int64) -> VideoFrame {
        VideoFrame(pts: pts, timeBase: .milliseconds, width: 2, height: 2, storage: Self.storage)
    }

    /// Shows frames with these times (ms) at a rate; returns the times of the shown frames.
    private func show(_ times: [Int64], at rate: FrameRate, frames: Int64) -> (shown: [Int64?], store: FrameStore) {
        var store = FrameStore()
        for time in times {
            store.add(frame(time), at: rate.frame(at: ProgramInstant(time, in: .milliseconds)))
        }
        let shown = (0..<frames).map { store.choose(for: FrameIndex($0))?.pts }
        return (shown, store)
    }

    @Test(
        "A file with the program's frame rate is shown frame by frame, even with timestamps in milliseconds",
        arguments: [FrameRate(30), FrameRate(30000, 1001), FrameRate(25), FrameRate(60), FrameRate(24000, 1001)])
    func sameRate(rate: FrameRate) {
        let times = (0..<900).map { rate.timeBase.rescale(Int64($0), to: .milliseconds, rounding: .down) }
        let (shown, store) = show(times, at: rate, frames: 900)
        #expect(shown == times)
        #expect(store.dropped == 0)
        #expect(store.repeated == 0)
    }

    @Test("A 15 fps file in a 30 fps program shows each frame twice")
    func repeats() {
        let times = (0..<30).map { Int64($0) * 1000 / 15 }
        let (shown, store) = show(times, at: FrameRate(30), frames: 60)
        let twice: [Int64?] = times.flatMap { [$0, $0] }
        #expect(shown == twice)
        #expect(store.repeated == 30)
    }

    @Test("The last frame of a file is shown for its full duration")
    func lastFrame() {
        var store = FrameStore()
        store.add(frame(0), at: 0, until: 6)
        _ = store.choose(for: 0)
        #expect(store.hasVideo(from: 5))
        #expect(!store.hasVideo(from: 6))
    }

    @Test("A 60 fps file in a 30 fps program drops every other frame, and the drops are counted")
    func drops() {
        let times = (0..<120).map { Int64($0) * 1000 / 60 }
        let (shown, store) = show(times, at: FrameRate(30), frames: 59)
        #expect(Set(shown).count == 59)
        #expect(store.dropped + store.count + 59 == 120)
        #expect(store.repeated == 0)
    }

    @Test("If two frames fall on one program frame and none on the next, both are shown")
    func jitter() {
        let (shown, store) = show([0, 34, 48, 100, 133], at: FrameRate(30), frames: 5)
        #expect(shown == [0, 34, 48, 100, 133])
        #expect(store.dropped == 0)
    }

    @Test("A frame with an earlier timestamp than the previous one is shown in the order of arrival")
    func backwards() {
        let (shown, _) = show([0, 33, 10, 100], at: FrameRate(30), frames: 4)
        #expect(shown == [0, 33, 10, 100])
    }
}

@Suite("Audio without gaps")
struct AudioStoreTests {
    private let format = AudioFormat(sampleRate: 48_000, channels: 1)

    private func audio(_ range: Range<Int>) -> AudioBuffer {
        AudioBuffer(position: Int64(range.lowerBound), format: format, channels: [range.map { Float($0 + 1) }])
    }

    @Test("A file's audio is the same, whatever the size of the portions in which it is requested")
    func portions() {
        var store = AudioStore(format: format)
        for start in stride(from: 0, to: 4096, by: 1024) { _ = store.add(audio(start..<start + 1024)) }
        var all: [Float] = []
        for end in stride(from: Int64(100), through: 4000, by: 300) { all += store.take(upTo: end).audio.channels[0] }
        #expect(all == (1...all.count).map(Float.init))
    }

    @Test("A gap in a file's audio becomes silence, exact to the sample")
    func hole() {
        var store = AudioStore(format: format)
        _ = store.add(audio(0..<10))
        _ = store.add(audio(15..<20))
        let (taken, silence) = store.take(upTo: 25)
        #expect(silence == 10)
        let expected = (0..<25).map { (index: Int) -> Float in
            index < 10 || (15..<20).contains(index) ? Float(index + 1) : 0
        }
        #expect(taken.channels[0] == expected)
    }

    @Test("Where audio buffers overlap the later one is used, and samples before the current position are dropped")
    func overlap() {
        var store = AudioStore(format: format)
        _ = store.add(audio(0..<10))
        let replaced = store.add(audio(6..<12))
        #expect(replaced == 4)
        let first = store.take(upTo: 12).audio.channels[0]
        #expect(first == (1...12).map(Float.init))
        let late = store.add(audio(8..<14))
        #expect(late == 4)
        let second = store.take(upTo: 14).audio.channels[0]
        #expect(second == [13, 14])
    }
}
