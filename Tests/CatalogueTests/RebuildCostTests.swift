// SPDX-License-Identifier: Apache-2.0

import Media
import RecordingSamples
import TestSupport
import Testing

@testable import Archive
@testable import Catalogue

/// Measures how long it takes to make a catalogue from files. The time is printed but not checked, because it depends
/// on the machine.
@Suite struct RebuildCostTests {
    @Test func `A catalogue is rebuilt from many files, and it is printed how long 50,000 would take`() throws {
        let (place, files) = (try TemporaryDirectory(), 400)
        _ = try RecordDirectory.prepare(place.path)
        let sample = SampleRecording(seconds: 2).closed
        for number in 1...files {
            let start = UTCTime(milliseconds: SampleRecording.start.milliseconds + Int64(number) * 2000)
            try place.write(sample, to: SegmentName(channel: "test", start: start, sequence: number).closed)
        }
        let archive = try RecordingArchive(place.path)
        var rebuilt = 0
        let time = try ContinuousClock().measure { rebuilt = try archive.rebuild().segments }
        #expect(rebuilt == files)
        print("rebuilding: \(files) files in \(time), so 50,000 in \(time * (50_000 / files))")
    }
}
