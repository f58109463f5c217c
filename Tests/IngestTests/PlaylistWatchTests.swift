// SPDX-License-Identifier: Apache-2.0

import Media
import TestSupport
import Testing

@testable import Ingest
@testable import LibAV

@Suite("Watch of a live HLS playlist")
struct PlaylistWatchTests {
    /// The head of a playlist that lists these media sequence numbers.
    private static func head(_ numbers: Range<Int>) throws -> PlaylistHead {
        let segments = numbers.map { "#EXTINF:1,\n\($0).ts\n" }.joined()
        let text = "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXT-X-MEDIA-SEQUENCE:\(numbers.lowerBound)\n" + segments
        return try #require(PlaylistHead(text))
    }

    @Test("A playlist is read at once, then once a minute, and once per target duration while a segment is late")
    func requests() throws {
        var watch = PlaylistWatch(target: .seconds(4))
        #expect(watch.isDue(at: .seconds(100), waitingSince: nil))
        _ = watch.note(try Self.head(0..<3), at: .seconds(100), waitingSince: nil)
        #expect(!watch.isDue(at: .seconds(159), waitingSince: .seconds(155)))
        #expect(watch.isDue(at: .seconds(160), waitingSince: .seconds(155)))
        _ = watch.note(nil, at: .seconds(160), waitingSince: .seconds(155))
        #expect(!watch.isDue(at: .milliseconds(161_900), waitingSince: .seconds(155)))
        #expect(!watch.isDue(at: .seconds(163), waitingSince: .seconds(155)))
        #expect(watch.isDue(at: .seconds(164), waitingSince: .seconds(155)))
    }

    @Test("A playlist that lists only earlier segments while a read waits for the next one counts as restarted")
    func smallerNumbers() throws {
        var watch = PlaylistWatch(target: .seconds(2))
        func note(_ numbers: Range<Int>?, at time: Int, since start: Int?) throws -> PlaylistWatch.Verdict {
            watch.note(
                try numbers.map { try Self.head($0) }, at: .seconds(time), waitingSince: start.map { .seconds($0) })
        }
        #expect(try note(500..<503, at: 0, since: nil) == .continues)
        // The next segment can still arrive in time.
        #expect(try note(0..<2, at: 3, since: 1) == .continues)
        #expect(try note(nil, at: 5, since: 1) == .continues)
        // This server is one segment behind.
        #expect(try note(499..<502, at: 7, since: 1) == .continues)
        #expect(try note(0..<0, at: 9, since: 1) == .continues)
        #expect(try note(0..<3, at: 11, since: 1) == .restarted)
    }

    @Test("A playlist counts as restarted if it gets new segments and none of them is read", arguments: [0, 8])
    func unreadSegments(lastRead: Int) throws {
        var watch = PlaylistWatch(target: .seconds(2))
        func note(_ numbers: Range<Int>, at time: Int, since start: Int?) throws -> PlaylistWatch.Verdict {
            watch.note(try Self.head(numbers), at: .seconds(time), waitingSince: start.map { .seconds($0) })
        }
        #expect(try note(0..<3, at: 0, since: nil) == .continues)
        #expect(try note(0..<1, at: 4, since: 0) == .continues)
        #expect(try note(0..<1, at: 6, since: 0) == .continues)
        #expect(try note(0..<2, at: 8, since: 0) == .continues)
        // If a packet was read in the meantime, another wait begins.
        #expect(try note(0..<3, at: 12, since: lastRead) == (lastRead == 0 ? .restarted : .continues))
    }

    /// A live playlist in which segments are listed with delays, and when a client reads each of them.
    private struct Broadcast {
        let target: Double
        /// When each segment is listed, in seconds.
        let listed: [Double]
        /// When the client has read each segment.
        let read: [Double]

        init(using random: inout SeededRandom) {
            let target = Double.random(in: 1...10, using: &random)
            var (time, listed) = (0.0, [Double]())
            for _ in 0..<200 {
                listed.append(time)
                // One segment in ten comes late.
                let isLate = Int.random(in: 0..<10, using: &random) == 0
                time += target * Double.random(in: 0.6...(isLate ? 2.2 : 1), using: &random)
            }
            read = listed.map { $0 + Double.random(in: 0...target / 2, using: &random) }
            (self.target, self.listed) = (target, listed)
        }
    }

    @Test("A playlist whose segments arrive late or are listed late does not count as restarted")
    func healthy() throws {
        var random = SeededRandom()
        for _ in 0..<50 {
            let broadcast = Broadcast(using: &random)
            let window = Int.random(in: 4...6, using: &random)
            var watch = PlaylistWatch(target: .seconds(broadcast.target))
            var time = broadcast.read[3]
            while time < broadcast.listed[199] {
                let start = MonotonicInstant.seconds(broadcast.read.last(where: { $0 <= time }) ?? 0)
                if watch.isDue(at: .seconds(time), waitingSince: start) {
                    let end = broadcast.listed.filter { $0 <= time }.count - Int.random(in: 0...1, using: &random)
                    let head = try Self.head(max(0, end - window)..<max(1, end))
                    let verdict = watch.note(head, at: .seconds(time), waitingSince: start)
                    try #require(verdict == .continues, "at \(time) of \(broadcast)")
                }
                time += max(broadcast.target / 2, 1)
            }
        }
    }

    @Test("A playlist's restart at any time is detected while a read waits for the next segment")
    func restarts() throws {
        var random = SeededRandom()
        for _ in 0..<200 {
            let target = Int.random(in: 1...10, using: &random)
            let (end, window) = (Int.random(in: 3...1000, using: &random), Int.random(in: 1...6, using: &random))
            var watch = PlaylistWatch(target: .seconds(target))
            let before = try Self.head(max(0, end - window)..<end)
            _ = watch.note(before, at: .seconds(0), waitingSince: nil)
            // The last segment is read after 10 s; the new list begins up to 5 s later.
            let begin = 10 + Int.random(in: 0...5, using: &random)
            var (time, verdict) = (10, PlaylistWatch.Verdict.continues)
            while verdict == .continues, time < 10 + 5 + 10 * target + 10 {
                time += max(target / 2, 1)
                guard watch.isDue(at: .seconds(time), waitingSince: .seconds(10)) else { continue }
                let segments = (time - begin) / target
                let head = try time < begin ? before : Self.head(max(0, segments - window)..<max(0, segments))
                verdict = watch.note(head, at: .seconds(time), waitingSince: .seconds(10))
            }
            try #require(verdict == .restarted, "target \(target), end \(end), window \(window), begin \(begin)")
        }
    }

    @Test("If a playlist watch that has ended reports a restart late, the next demuxer's read is not interrupted")
    func lateVerdict() {
        let (state, interrupter) = (PlaylistState(), Interrupter(clock: ManualClock()))
        let ended = state.beginWatch()
        state.unwatch()
        state.noteRestart(inWatch: ended, ending: interrupter)
        #expect(!state.isRestarted && !state.isAtChange)
        let current = state.beginWatch()
        state.noteRestart(inWatch: ended, ending: interrupter)
        #expect(!state.isRestarted && !interrupter.hasTimedOut)
        state.noteRestart(inWatch: current, ending: interrupter)
        #expect(state.isRestarted && interrupter.hasTimedOut)
    }

    @Test("The last group of segments that needs an initialization section is found by the section's address")
    func initialization() throws {
        let text = """
            #EXTM3U
            #EXT-X-MEDIA-SEQUENCE:7
            #EXT-X-MAP:URI="../a/init.mp4?k=1"
            #EXTINF:2,
            7.m4s
            #EXT-X-DISCONTINUITY
            #EXT-X-MAP:URI="b.mp4",BYTERANGE="800@16"
            #EXTINF:2,
            8.m4s
            #EXTINF:2,
            9.m4s
            #EXT-X-MAP:URI="../a/init.mp4?k=1"
            #EXTINF:2,
            10.m4s
            #EXT-X-MAP:URI="../a/init.mp4?k=1"
            #EXTINF:2,
            11.m4s
            #EXT-X-MAP:URI="c.mp4"
            """
        let head = try #require(PlaylistHead(text))
        func segments(_ url: String, _ offset: Int64? = nil) -> Int? {
            head.segments(before: InitializationAddress(url: url, offset: offset))
        }
        #expect(segments("https://h/a/init.mp4?k=1") == 3)
        #expect(segments("https://h/x/b.mp4", 16) == 1)
        #expect(segments("crypto+https://h/x/b.mp4", 16) == 1)
        #expect(segments("https://h/x/b.mp4") == nil)
        #expect(segments("https://h/x/bb.mp4", 16) == nil)
        // No segment in the playlist needs this section yet.
        #expect(segments("https://h/x/c.mp4") == nil)
    }

    @Test("If a playlist does not list an initialization section, playback begins at the playlist's last change")
    func otherList() throws {
        let segment = "#EXTINF:2,\n1.m4s\n"
        func begin(_ body: String) throws -> Int {
            let list = "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXT-X-MEDIA-SEQUENCE:40\n" + body
            let server = try RecordingServer { _ in
                "HTTP/1.1 200 OK\r\nContent-Length: \(list.utf8.count)\r\nConnection: close\r\n\r\n\(list)"
            }
            defer { withExtendedLifetime(server) {} }
            let location = InputLocation("http://127.0.0.1:\(server.port)/list.m3u8")
            let audio = InitializationAddress(url: "http://127.0.0.1/audio.mp4", offset: nil)
            return location.startIndex(at: [audio], KnownRedirections(), Interrupter(clock: ManualClock()))
        }
        let (old, new) = ("#EXT-X-MAP:URI=\"a.mp4\"\n" + segment, "#EXT-X-MAP:URI=\"b.mp4\"\n" + segment)
        #expect(try begin(old + segment + new + segment) == 2)
        #expect(try begin(old + new + old + new) == 3)
        // The section of this list stays the same, and only that of the audio changes.
        let discontinuity = "#EXT-X-DISCONTINUITY\n"
        #expect(try begin(old + segment + discontinuity + segment + segment) == 2)
        #expect(try begin(old + new + discontinuity + segment + segment) == 2)
        #expect(try begin("#EXT-X-DISCONTINUITY-SEQUENCE:3\n" + discontinuity + old + segment) == -1)
        // No change is listed yet, or the section has no segment yet.
        #expect(try begin(old + segment) == -1)
        #expect(try begin(old + segment + "#EXT-X-MAP:URI=\"b.mp4\"\n") == -1)
    }
}

extension MonotonicInstant {
    /// The moment at which a clock that began at 0 shows `seconds`.
    fileprivate static func seconds(_ seconds: Int) -> MonotonicInstant { .zero + .seconds(seconds) }

    fileprivate static func seconds(_ seconds: Double) -> MonotonicInstant { .zero + .seconds(seconds) }

    fileprivate static func milliseconds(_ milliseconds: Int) -> MonotonicInstant {
        .zero + .milliseconds(milliseconds)
    }
}
