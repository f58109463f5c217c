// SPDX-License-Identifier: Apache-2.0

import Media
import Synchronization
import TestSupport
import Testing

@testable import Program

/// A live source whose audio is played 100 ms earlier than it arrives.
@Suite struct AudioAheadTests {
    private let feed = SourceFeed(
        pacing: .live(frameRate: FrameRate(25)), frameRate: FrameRate(25), audio: .program, clock: ManualClock())

    /// Delivers audio until `held` samples are available after frame `index`; each sample is its position, counted from
    /// 1. Takes the frame's audio, and returns how far it is ahead; nil if a sample is missing.
    private func take(_ index: Int64, held: Int64) -> Int64? {
        let range = SampleIndex(index * 1920)..<SampleIndex((index + 1) * 1920)
        let start = feed.state.withLock { $0.audio.end }
        let samples = (start..<max(start, range.upperBound.number + held)).map { Float($0 + 1) }
        feed.deliver(AudioBuffer(position: start, format: .program, channels: [samples, samples]))
        let (audio, ahead) = feed.audio(range, ahead: 4800)
        return audio.channels[0] == (audio.position..<audio.end).map { Float($0 + 1) } ? ahead : nil
    }

    @Test("While a source's audio buffer is smaller, its audio is played less early, and afterwards as early as before")
    func shrinks() {
        for index in Int64(0)..<6 { #expect(take(index, held: 9600) == 4800) }
        for index in Int64(6)..<16 { #expect(take(index, held: 2000) != nil, "frame \(index)") }
        #expect(take(16, held: 2000) == 1920)
        for index in Int64(17)..<20 { #expect(take(index, held: 9600) == 4800) }
    }

    @Test("After a reconnect with a smaller buffer a source's audio is played again, but not early")
    func away() {
        for index in Int64(0)..<6 { #expect(take(index, held: 9600) == 4800) }
        for index in Int64(6)..<20 { _ = take(index, held: -9600) }
        for index in Int64(20)..<30 { #expect(take(index, held: 2000) == 0, "frame \(index)") }
    }
}
