// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Kernels
import Media
import Program
import Stitcher
import TestSupport
import Testing

@testable import Relay
@testable import Studio

@Suite struct StitchProjectTests {
    private let temporary: TemporaryDirectory

    init() throws {
        temporary = try TemporaryDirectory()
        try temporary.write([1], to: "a.mp4")
    }

    private func read(_ text: String) throws -> [StitchClip] {
        try temporary.write(Array(text.utf8), to: "show.yaml")
        return try StitchProject.read(temporary.path("show.yaml"), transition: nil)
    }

    private func faults(_ text: String) -> [String] {
        do {
            _ = try read(text)
            return []
        } catch let failure as ConfigurationFailure {
            return failure.lines.map { String($0.split(separator: "/").last ?? "") }
        } catch {
            return ["\(error)"]
        }
    }

    @Test
    func `The clips of a stitch project are read with the times, titles, transitions and audio offsets that it states`()
        throws
    {
        let clips = try read(
            """
            transition: fade
            segments:
              - file: a.mp4
                in: 1.5
                out: 4s
                audioOffset: -40ms
              - file: a.mp4
                in: 10s
                duration: 2s
                name: Second
                transition: {type: wipe-left, seconds: 0.5, easing: in-out}
              - file: a.mp4
                duration: end
                transition: cut
            """)
        #expect(clips.map(\.path) == Array(repeating: temporary.path("a.mp4"), count: 3))
        #expect(clips[0].from == .milliseconds(1500) && clips[0].to == .seconds(4))
        #expect(clips[0].audioOffset == .milliseconds(-40))
        #expect(clips[0].transition == StitchTransition(Transition(.fade), duration: .seconds(1)))
        #expect(clips[1].to == .seconds(12) && clips[1].title == "Second")
        let wipe = StitchTransition(Transition(.wipeLeft, easing: .inOut), duration: .milliseconds(500))
        #expect(clips[1].transition == wipe)
        #expect(clips[1].origin == temporary.path("show.yaml") + ":7:11")
        #expect(clips[2].to == nil && clips[2].transition?.transition.kind == .cut)
    }

    @Test(arguments: [
        ("segments:\n  - fil: a.mp4", "show.yaml:2:5: segments[0].fil: There is no such key; is file meant?"),
        (
            "segments:\n  - file: b.mp4",
            "show.yaml:2:11: segments[0].file: There is no such file, or it cannot be read."
        ),
        ("segments:\n  - file: a.mp4\n    in: 5\n    out: 2", "show.yaml:4:10: segments[0]: It ends before it begins."),
        (
            "segments:\n  - file: show.yaml",
            "show.yaml:2:11: segments[0].file: It is a project, and not a video: a project cannot be a part of another."
        ),
        (
            "segments: []",
            "show.yaml:1:11: segments: It is a list, one segment behind each hyphen, of 1 to 1000 segments."
        ),
        ("name: x", "show.yaml:1:1: segments: There is no segment: name at least one."),
        (
            "segments:\n  - file: a.mp4\n    out: 3\n    duration: 2",
            "show.yaml:3:10: segments[0]: There are duration and out: leave one of them out."
        ),
        (
            "segments:\n  - file: a.mp4\n    audioOffset: --40ms",
            "show.yaml:3:18: segments[0].audioOffset: It is a length of time of at most 60s, such as 40ms or -0.1."
        ),
        ("transition: fad\nsegments:\n  - file: a.mp4", "is fade meant?"),
    ])
    func `An error in a stitch project is reported with its position`(text: String, fault: String) {
        let found = faults(text)
        #expect(found.count == 1 && found.first?.hasSuffix(fault) == true, "\(found)")
    }
}

@Suite struct StitchInputTests {
    @Test func `In arguments of relay stitch options follow the file name, which may contain any character`() throws {
        let clip = try StitchInput.clip("/x/a#1.mp4#from=1.5,to=1m,transition=fade:0.5s,title=A%2C b", transition: nil)
        #expect(clip.path == "/x/a#1.mp4" && clip.from == .milliseconds(1500) && clip.to == .seconds(60))
        #expect(clip.transition == StitchTransition(Transition(.fade), duration: .milliseconds(500)))
        #expect(clip.title == "A, b")
        #expect(try StitchInput.clip("a#2.mp4", transition: nil).path == "a#2.mp4")
        let usual = StitchTransition(Transition(.dip), duration: .seconds(1))
        #expect(try StitchInput.clip("a.mp4", transition: usual).transition == usual)
        #expect(try StitchInput.clip("a.mp4#audio-offset=-20ms", transition: nil).audioOffset == .milliseconds(-20))
    }

    @Test(arguments: ["a.mp4#from=x", "a.mp4#from=1,upto=2", "a.mp4#transition=melt", "a.mp4#from=1,from=2"])
    func `An unknown, repeated or invalid option of relay stitch is refused`(text: String) {
        #expect(throws: (any Error).self) { try StitchInput.clip(text, transition: nil) }
    }

    @Test
    func `relay stitch refuses an output file with another container's extension, and has a default disk reserve`()
        throws
    {
        for name in ["/x/a.mkv", "a.b.WEBM", "a.ts"] {
            #expect(throws: (any Error).self) { try StitchCommand.parse(["a.mp4", "-o", name]) }
        }
        for name in ["a.mp4", "a.MOV", "a.m4v", "ts", "/x.ts/a"] {
            #expect(throws: Never.self) { try StitchCommand.parse(["a.mp4", "-o", name]) }
        }
        #expect(try StitchOptions.parse(["--disk-reserve", "5MiB"]).reserve(for: "a.mp4") == 5 << 20)
        let usual = try StitchOptions.parse([]).reserve(for: "a.mp4")
        #expect(usual > 0 && usual <= 1 << 30)
    }
}
