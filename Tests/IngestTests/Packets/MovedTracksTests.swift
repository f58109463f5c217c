// SPDX-License-Identifier: Apache-2.0

import Media
import Testing

@testable import Ingest
@testable import SourceClock

@Suite("Detection of tracks that move to other streams")
struct MovedTracksTests {
    private func at(_ milliseconds: Int64) -> MonotonicInstant { MonotonicInstant(milliseconds, in: .milliseconds) }

    @Test("A track counts as moved to a new stream if its packets have arrived only in that stream for 3 s")
    func moved() {
        var tracks = MovedTracks(reading: [0: .video, 1: .audio], wanted: [.video, .audio], patience: .seconds(1))
        for time in stride(from: Int64(0), to: 3000, by: 40) {
            #expect(tracks.note(2, late: .video, at: at(time)) == nil)
            #expect(tracks.note(1, late: nil, at: at(time)) == nil)
        }
        #expect(tracks.note(2, late: .video, at: at(3000)) == .video)
    }

    @Test("A track that continues in its own stream does not count as moved, even if other streams appear")
    func stays() {
        var tracks = MovedTracks(reading: [0: .video, 1: .audio], wanted: [.video, .audio], patience: .seconds(1))
        for segment in Int64(0)..<5 {
            for time in stride(from: segment * 6000, to: segment * 6000 + 1000, by: 40) {
                #expect(tracks.note(2, late: .video, at: at(time)) == nil)
                #expect(tracks.note(0, late: nil, at: at(time)) == nil)
            }
        }
    }

    @Test(
        "If the order of two audio tracks changes between segments, neither track counts as moved")
    func bursts() {
        let patience = SourceClockSettings.playlist(target: .seconds(6)).patience
        var tracks = MovedTracks(reading: [0: .video, 1: .audio], wanted: [.video, .audio], patience: patience)
        for segment in Int64(0)..<5 {
            let order = segment.isMultiple(of: 2) ? [0, 1, 2] : [2, 1, 0]
            for (place, index) in order.enumerated() {
                let time = at(segment * 6000 + Int64(place))
                #expect(tracks.note(index, late: index == 2 ? .audio : nil, at: time) == nil)
            }
        }
    }

    @Test("A new audio stream counts as moved only if audio is wanted, and other kinds of streams never count")
    func added() {
        var wanted = MovedTracks(reading: [0: .video], wanted: [.video, .audio], patience: .seconds(1))
        var unwanted = MovedTracks(reading: [0: .video], wanted: [.video], patience: .seconds(1))
        for time in stride(from: Int64(0), through: 6000, by: 500) {
            #expect(wanted.note(1, late: .audio, at: at(time)) == (time < 3000 ? nil : .audio))
            #expect(unwanted.note(1, late: .audio, at: at(time)) == nil)
            #expect(unwanted.note(2, late: nil, at: at(time)) == nil)
        }
    }

    @Test("If audio is excluded, or selected by number or language, it is not looked for in other streams")
    func options() {
        var options = TrackOptions()
        #expect(options.followed([.video, .audio]) == [.video, .audio])
        options.audio = .language("eng")
        #expect(options.followed([.video, .audio]) == [.video])
        (options.audio, options.hasAudio) = (nil, false)
        #expect(options.followed([.video, .audio]) == [.video] && options.followed([.audio]).isEmpty)
    }
}
