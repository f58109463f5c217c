// SPDX-License-Identifier: Apache-2.0

import Archive
import Media
import TestSupport
import Testing

@testable import Catalogue
@testable import Library

@Suite("Recorded scenes on the timeline of a program")
struct SceneLineTests {
    /// One run of a recorder, frame by frame: frame `n` went on air `n` frames after the run began.
    private struct Run {
        let name: String
        let rate: FrameRate
        /// Milliseconds since 1970.
        let begin: Int64
        /// The frames that are in files, a range for each, in order.
        let files: [Range<Int64>]
        /// The names of the sources that are visible from each frame on, in order.
        var scenes: [(frame: Int64, sources: [String])] = []
        /// Whether events name the run.
        var isNamed = true

        /// All frames from the first recorded one to the last.
        var frames: Range<Int64> { files[0].lowerBound..<files[files.count - 1].upperBound }

        /// When `frame` went on air, in nanoseconds since 1970.
        func time(_ frame: Int64) -> Int64 {
            let (ticks, length) = (frame * 1_000_000_000 * Int64(rate.denominator), Int64(rate.numerator))
            return begin * 1_000_000 + (2 * ticks + length) / (2 * length)
        }

        /// The first recorded frame from `frame` on.
        func recorded(_ frame: Int64) -> Int64? {
            files.first { frame < $0.upperBound }.map { max(frame, $0.lowerBound) }
        }

        /// The sources that are visible in `frame`; nil before the first scene.
        func sources(_ frame: Int64) -> [String]? {
            scenes.last { scene in recorded(scene.frame).map { $0 <= frame } ?? false }?.sources
        }

        /// The ranges of frames in which `source` is visible.
        func stretches(of source: String) -> [Range<Int64>] {
            var found: [Range<Int64>] = []
            for frame in frames where sources(frame)?.contains(source) ?? false {
                if let last = found.last, last.upperBound == frame {
                    found[found.count - 1] = last.lowerBound..<frame + 1
                } else {
                    found.append(frame..<frame + 1)
                }
            }
            return found
        }

        func event(_ frame: Int64, _ sources: [String]) -> SceneEvent {
            SceneEvent(
                name: nil, layout: "pip", sources: sources, frame: frame, run: isNamed ? name : nil, transition: "cut")
        }

        /// The catalogue's rows of the run: dated to the millisecond, with events noted a little later.
        var rows: (segments: [CatalogueSegment], events: [CatalogueEvent]) {
            let segments = files.map { frames in
                let programStart = ProgramInstant(nanoseconds: time(frames.lowerBound) - begin * 1_000_000)
                return CatalogueSegment(
                    record: SegmentRecord(
                        fileName: "relay_\(name)_\(frames.lowerBound).mp4", channel: "relay", sequence: 1,
                        start: UTCTime(milliseconds: time(frames.lowerBound) / 1_000_000), programStart: programStart,
                        programEnd: programStart + .nanoseconds(time(frames.upperBound) - time(frames.lowerBound)),
                        frames: frames.count, audioSamples: 0, bytes: 1, ending: .rotate, run: name))
            }
            let events = scenes.map { scene in
                CatalogueEvent(
                    channel: "relay", at: UTCTime(milliseconds: time(scene.frame) / 1_000_000 + 5),
                    scene: event(scene.frame, scene.sources))
            }
            return (segments, events)
        }
    }

    private static let begin: Int64 = 1_800_000_000_000
    private static let sources = ["cam1", "cam2", "cam3"]
    /// At the first four rates, a frame lasts an integral number of milliseconds.
    private static let rates = [
        FrameRate(25), FrameRate(50), FrameRate(40), FrameRate(10), FrameRate(60), FrameRate(30_000, 1001),
        FrameRate(24_000, 1001),
    ]

    /// Up to three runs of a few files each, with missing frames between the files.
    private func runs(_ rate: FrameRate, _ random: inout SeededRandom) -> [Run] {
        var (runs, begin) = ([Run](), Self.begin)
        let isNamed = Bool.random(using: &random)
        for number in 0..<Int.random(in: 1...3, using: &random) {
            var (files, frame) = ([Range<Int64>](), Int64.random(in: 0...20, using: &random))
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let end = frame + Int64.random(in: 1...60, using: &random)
                files.append(frame..<end)
                frame = end + (Bool.random(using: &random) ? Int64.random(in: 1...20, using: &random) : 0)
            }
            var run = Run(name: "a\(number)", rate: rate, begin: begin, files: files, isNamed: isNamed)
            // If events do not name the run, an event after the run's last frame would count as an event of the next
            // run.
            let last = run.frames.upperBound + (isNamed ? 20 : -1)
            let frames = (0..<Int.random(in: 0...6, using: &random)).map { _ in
                Int64.random(in: 0...last, using: &random)
            }
            for frame in Set(frames).sorted() {
                let count = Int.random(in: 0...2, using: &random)
                run.scenes.append((frame, Array(Self.sources.shuffled(using: &random).prefix(count))))
            }
            runs.append(run)
            begin = run.time(run.frames.upperBound) / 1_000_000 + Int64.random(in: 5000...100_000, using: &random)
        }
        return runs
    }

    /// The catalogue's rows of `runs`, with the files in random order, and with rows of other channels and events.
    private func rows(
        _ runs: [Run], _ random: inout SeededRandom
    ) -> (segments: [CatalogueSegment], events: [CatalogueEvent]) {
        let all = runs.map(\.rows)
        var segments = all.flatMap(\.segments)
        for index in segments.indices where Bool.random(using: &random) {
            var other = segments[index]
            other.channel = "relay-cam1"
            segments.append(other)
        }
        let events = all.flatMap(\.events).flatMap { event in
            [
                CatalogueEvent(channel: "relay", at: UTCTime(milliseconds: event.start), kind: "marker", text: "x"),
                event,
            ]
        }
        return (segments.shuffled(using: &random), events)
    }

    @Test("A source is on air in exactly the frames in which the recorded scenes show it", arguments: 0..<7)
    func ranges(rate: Int) throws {
        var random = SeededRandom("ranges \(rate)")
        for _ in 0..<25 {
            let runs = runs(Self.rates[rate], &random)
            let (segments, events) = rows(runs, &random)
            let channels: [String?] = [nil, "relay", "relay-cam1"]
            let channel: String? = channels.randomElement(using: &random) ?? nil
            for source in Self.sources {
                let expected = runs.flatMap { run in
                    run.stretches(of: source).map { run.time($0.lowerBound)..<run.time($0.upperBound) }
                }
                let found = try? SceneRanges(of: source, in: segments, events: events, channel: channel, limits: nil)
                let ranges = found?.ranges ?? []
                #expect(ranges.count == expected.count)
                for (range, expected) in zip(ranges, expected) {
                    // The dates of files are in milliseconds, and so are the resulting ranges.
                    let tolerance: Int64 = rate < 4 ? 0 : 2_000_010
                    #expect(abs(range.lowerBound * 1_000_000 - expected.lowerBound) <= tolerance)
                    #expect(abs(range.upperBound * 1_000_000 - expected.upperBound) <= tolerance)
                }
                guard rate < 4 else { continue }
                let from = Self.begin + Int64.random(in: 0...20_000, using: &random)
                let limits = from..<from + Int64.random(in: 1...20_000, using: &random)
                let cut = try? SceneRanges(of: source, in: segments, events: events, channel: channel, limits: limits)
                #expect((cut?.ranges ?? []) == ranges.map { $0.clamped(to: limits) }.filter { !$0.isEmpty })
            }
        }
    }

    @Test("Each recorded frame has a position in the list of scenes; a scene that began in a gap starts after the gap")
    func places() throws {
        var random = SeededRandom()
        for turn in 0..<30 {
            let runs = runs(Self.rates[turn % Self.rates.count], &random)
            let files = ProgramFiles(rows(runs, &random).segments.filter { $0.channel == "relay" })
            #expect(files.runNames == Set(runs.map(\.name)) && files.rate == runs[0].rate)
            var end: Int64 = 0
            for var run in runs {
                run.isNamed = true
                let (first, last) = (run.frames.lowerBound, run.frames.upperBound)
                let line = try #require(files.place(of: run.event(first, []), toldAt: 0)?.range)
                #expect(line.count == run.frames.count && line.lowerBound >= end)
                for frame in 0..<last + 30 {
                    let (found, recorded) = (files.place(of: run.event(frame, []), toldAt: 0), run.recorded(frame))
                    #expect(found?.range == recorded.map { line.lowerBound + $0 - first..<line.upperBound })
                    #expect(found?.late == recorded.map { $0 - frame })
                    guard recorded == frame else { continue }
                    let place = line.lowerBound + frame - first
                    #expect(abs(files.time(of: place) - run.time(frame)) <= 1_000_001)
                    #expect(abs(files.end(of: place) - run.time(frame + 1)) <= 1_000_001)
                    #expect(files.place(at: files.middle(of: place)) == place)
                }
                end = line.upperBound
            }
        }
    }

    @Test("Each frame from a run's first scene to the run's end belongs to exactly one scene change")
    func changes() throws {
        var random = SeededRandom()
        for turn in 0..<60 {
            let runs = runs(Self.rates[turn % Self.rates.count], &random)
            let (segments, events) = rows(runs, &random)
            guard let told = try? SceneChange.told(segments, events, channel: "relay") else {
                #expect(runs.allSatisfy { $0.scenes.isEmpty })
                continue
            }
            let shown = told.shown
            for (before, after) in zip(shown, shown.dropFirst()) {
                #expect(before.place.upperBound <= after.place.lowerBound)
            }
            let frames = runs.reduce(0) { sum, run in sum + run.frames.count { run.sources($0) != nil } }
            #expect(shown.reduce(0) { $0 + $1.place.count } == frames)
        }
    }

    @Test("If a run has earlier times than the previous run, the scenes of the previous run stay unchanged")
    func datedBefore() throws {
        // The machine started with a clock that was an hour ahead.
        var ahead = Run(name: "a", rate: FrameRate(25), begin: Self.begin + 3_600_000, files: [0..<250])
        ahead.scenes = [(0, ["cam1"]), (125, ["cam2"])]
        var right = Run(name: "b", rate: FrameRate(25), begin: Self.begin, files: [0..<250])
        right.scenes = [(0, ["cam1"])]
        let (segments, events) = (ahead.rows.segments + right.rows.segments, ahead.rows.events + right.rows.events)
        let found = try SceneRanges(of: "cam2", in: segments, events: events, channel: nil, limits: nil)
        #expect(found.ranges == [Self.begin + 3_605_000..<Self.begin + 3_610_000])
        // The ranges are in the order of time, and so are the parts of a show.
        let both = try SceneRanges(of: "cam1", in: segments, events: events, channel: nil, limits: nil)
        #expect(
            both.ranges == [
                Self.begin..<Self.begin + 10_000, Self.begin + 3_600_000..<Self.begin + 3_605_000,
            ])
        let show = try RecordedShow(of: segments, events, channel: nil, limits: nil)
        #expect(show.parts.map(\.scene.sources) == [["cam1"], ["cam1"], ["cam2"]])
        #expect(show.parts.suffix(2).map(\.frames) == [125, 125])
    }

    @Test("A show's run-down can be parsed whatever the names of its sources and its directory are")
    func names() throws {
        for name in ["a\u{2028}b", "\u{85}", "\"x\" # y", "tab\t", "\u{FFFE}"] {
            var run = Run(name: "a", rate: FrameRate(25), begin: Self.begin, files: [0..<250])
            run.scenes = [(0, [name])]
            let show = try RecordedShow(of: run.rows.segments, run.rows.events, channel: nil, limits: nil)
            let text = show.text(directory: "/\(name)/\n- x", from: "a", to: "b")
            let segments = try ReadYAML(text).segments
            #expect(segments.map { $0["scene"]?["sources"] } == [.list([.text(name)])], "\(text.debugDescription)")
            #expect(segments.map { $0["frames"] } == [.text("250")])
        }
    }

    @Test("The run-down of a short time is the same whether the whole catalogue or only a part of it is read")
    func shownInPart() throws {
        let directory = try TemporaryDirectory()
        let store = try CatalogueStore(directory: directory.path)
        // Files of two seconds for ten minutes, of the program and of its sources, and a scene every seven seconds.
        var run = Run(
            name: "a", rate: FrameRate(25), begin: Self.begin, files: (0..<300).map { 50 * $0..<50 * $0 + 50 })
        let seconds = Array(stride(from: Int64(0), to: 600, by: 7))
        run.scenes = seconds.map { (25 * $0, [["cam1"], ["cam2"], ["cam1", "cam2"]][Int($0 / 7 % 3)]) }
        try store.put(run.rows.segments, living: [])
        for event in run.rows.events { try store.put(event) }
        for number in 1...3 {
            let segments = run.rows.segments.map { program in
                var segment = program
                segment.name = "relay-cam\(number)_\(program.name)"
                (segment.channel, segment.run) = ("relay-cam\(number)", "a.\(number)")
                return segment
            }
            // The recording of the second source lacks the last minute.
            try store.put(Array(number == 2 ? segments.dropLast(30) : segments[...]), living: [])
        }
        for segment in try store.segments() { try directory.write([0], to: segment.name) }
        let archive = try RecordingArchive(directory.path)
        let all = try archive.catalogued()
        for (from, to, isPart) in [(100, 130, true), (301, 302, true), (530, 550, true), (560, 580, false)]
            as [(Int64, Int64, Bool)]
        {
            let limits = Self.begin + 1000 * from..<Self.begin + 1000 * to
            let part = archive.show(in: limits, of: nil)
            #expect((part != nil) == isPart, "\(from) s")
            guard let part else { continue }
            #expect(part.segments.count < all.segments.count / 3)
            let texts = try [all, part].map { contents in
                try RecordedShow(of: contents.segments, contents.events, channel: nil, limits: limits)
                    .text(directory: "rec", from: "A", to: "B")
            }
            #expect(texts[0] == texts[1] && texts[0].contains("export rec --channel relay-cam"))
        }
    }
}
