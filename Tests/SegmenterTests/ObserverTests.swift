// SPDX-License-Identifier: Apache-2.0

import Media
import Synchronization
import TestSupport
import Testing

@testable import Archive
@testable import Segmenter

@Suite struct ObserverTests {
    private static let rate = FrameRate(25)

    @Test func `Finished files and gaps are reported to observers with their program times`() throws {
        let directory = try TemporaryDirectory()
        let witness = RecordingWitness()
        // The wall clock advances with the program, however slow the machine is.
        let start: Int64 = 1_795_269_790_123
        let now = Mutex(start)
        let recording = try Recording(
            description(rate: Self.rate), length: .duration(.seconds(2)), directory: directory, observers: [witness],
            wallClock: { UTCTime(milliseconds: now.withLock { $0 }) })
        func feed(_ packets: some Sequence<EncodedPacket>) {
            for packet in packets {
                now.withLock { $0 = max($0, start + packet.programDts.nanoseconds / 1_000_000) }
                recording.feed([packet])
                recording.recorder.waitUntilIdle()
            }
        }
        let packets = syntheticProgram(rate: Self.rate, frames: 225, isKeyframe: { $0 % 25 == 0 })
        let cut = try #require(packets.firstIndex { $0.track == .video && $0.programPts >= 5_000_000_000 })
        let back = try #require(packets.firstIndex { $0.track == .video && $0.programPts >= 6_000_000_000 })
        feed(packets[..<cut])
        recording.recorder.suspend("no room")
        recording.recorder.waitUntilIdle()
        feed(packets[cut..<back])
        recording.recorder.waitUntilIdle()
        recording.recorder.resume()
        feed(packets[back...])
        recording.finish()
        #expect(recording.recorder.status.lastError == nil, "\(directory.files)")
        let gap = try #require(witness.gaps.first)
        #expect(witness.gaps.count == 1 && gap.reason == "no room")
        let records = witness.records
        let behind = try #require(records.first { $0.programStart == gap.to })
        let distance = behind.start.milliseconds - witness.gapStarts[0].milliseconds
        #expect(abs(distance - (behind.programStart - gap.from).inMilliseconds) <= 1)
        #expect(records.map(\.ending).filter { $0 == .disk }.count == 1)
        #expect(records.last?.ending == .stop && records.first?.ending == .rotate)
        #expect(records.reduce(0) { $0 + $1.frames } + gap.frames == 225)
        for (before, after) in zip(records, records.dropFirst()) where before.ending == .rotate {
            #expect(before.programEnd == after.programStart)
        }
        let whole = try #require(records.first)
        #expect(whole.programEnd - whole.programStart == .milliseconds(whole.frames * 40))
        // The audio lasts as long as the frames, to within one packet.
        #expect(abs(whole.audioSamples - Int64(whole.frames) * 1920) <= 1024)
    }
}
