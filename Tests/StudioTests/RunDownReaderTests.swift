// SPDX-License-Identifier: Apache-2.0

import Foundation
import Kernels
import Media
import Program
import TestSupport
import Testing

@testable import Studio

@Suite("Parsing of run-downs")
struct RunDownReaderTests {
    private let directory: TemporaryDirectory
    private let known = RunDownReader.Known(
        sources: ["cam1", "cam2"], scenes: [("duo", SceneLayout(.pip, ["cam1", "cam2"]))])

    init() throws {
        directory = try TemporaryDirectory()
        try directory.write([], to: "intro.mp4")
    }

    private func path(_ name: String) -> String { directory.path(name) }

    private func read(_ text: String, isConfined: Bool = false) throws -> RunDown {
        try RunDownReader.read(
            text, name: "show.yaml", known: known,
            files: RunDownFiles(directory: directory.path, isConfined: isConfined))
    }

    private func faults(_ text: String, isConfined: Bool = false) -> [String] {
        do {
            return ["\(try read(text, isConfined: isConfined))"]
        } catch {
            return (error as? ConfigurationFailure)?.lines ?? ["\(error)"]
        }
    }

    // Without the refusal, the YAML library would hash the node to which the alias refers, which takes twice as long
    // with each line.
    @Test(
        "A run-down with a YAML alias as a key is refused quickly, whatever the alias refers to",
        .timeLimit(.minutes(1)))
    func aliases() throws {
        var lines = ["a0: &a0 [x, x]"]
        for index in 1...60 { lines.append("a\(index): &a\(index) [*a\(index - 1), *a\(index - 1)]") }
        for key in ["? *a60\n: 1", "*a60 : 1", "z: {*a60}", "z: [{a: 1, *a60: 2}]", "z: [*a60:1]"] {
            let found = faults((lines + [key]).joined(separator: "\n"))
            #expect(found.count == 1 && found.first?.contains("A key is a word.") == true, "\(key) \(found)")
        }
        let deep = "z: " + String(repeating: "[", count: 20) + "{*a60: 1}" + String(repeating: "]", count: 20)
        #expect(faults((lines + [deep]).joined(separator: "\n")).first?.contains("nested too deep") == true)
        // Anywhere else an alias is replaced by its node, and an asterisk inside a text is an ordinary letter.
        let show = try read(
            "segments: [{source: &cam cam1, name: 'a*b', duration: &long 2s}, {source: *cam, name: '*', duration: *long}]"
        )
        #expect(show.segments.map(\.name) == ["a*b", "*"] && show.segments[1].length == .time(.seconds(2)))
    }

    @Test("A stinger in a run-down has only a name and no other options")
    func stinger() throws {
        let read = { (transition: String) throws(ConfigurationFailure) in
            var known = known
            known.stingers = ["wipe"]
            return try RunDownReader.read(
                "{transition: {type: stinger, name: wipe}, segments: [{source: cam1}, {source: cam2, "
                    + "transition: \(transition)}]}", name: "show", known: known,
                files: RunDownFiles(directory: directory.path))
        }
        let changes = try read("cut").segments.map(\.change)
        #expect(changes == [RunDown.Change(stinger: "wipe"), .cut] && changes[0].name == .stinger("wipe"))
        for (transition, reason) in [
            ("stinger", "A stinger is named"), ("{type: stinger}", "It has no name"),
            ("{type: stinger, name: sweep}", "There is no stinger sweep. There are wipe."),
            ("{type: stinger, name: wipe, seconds: 1}", "A stinger is as its file is"),
        ] {
            do throws(ConfigurationFailure) {
                _ = try read(transition)
                Issue.record("\(transition)")
            } catch {
                #expect(error.lines.count == 1 && error.lines[0].contains(reason), "\(error.lines)")
            }
        }
    }

    @Test("A run-down with every possible key is parsed")
    func everything() throws {
        let runDown = try read(
            """
            name: Evening
            loop: true
            seed: 7
            audio: mix
            transition: fade
            segments:
              - file: intro.mp4
                in: 1.5
              - source: cam1
                duration: 1m30s
                transition: {type: flip, seconds: 0.5, easing: in-out, color: "#0a64ff"}
              - name: Both
                scene: duo
                frames: 250
                transition: cut
                audio: cam2
              - switch: [cam1, duo, slate, {layout: grid, sources: [cam1, cam2]}]
                every: 5s
                order: random
                duration: 10m
              - file: intro.mp4
                scene: {layout: pip, sources: [cam1, file], inset: {x: 0.1, y: 0.1, width: 0.3}}
                duration: take
            """)
        #expect(runDown.name == "Evening" && runDown.loops && runDown.seed == 7 && runDown.segments.count == 5)
        let segments = runDown.segments
        #expect(segments[0].clip?.start == .milliseconds(1500) && segments[0].length == .end)
        #expect(segments[0].clip?.path.hasSuffix("/intro.mp4") == true && segments[0].name == "intro.mp4")
        #expect(segments[0].change == .init(.fade) && segments[0].audio == .mix)
        let blue = RGBColor(red: 10, green: 100, blue: 255)
        #expect(segments[1].change == .init(.flipHorizontal, .milliseconds(500), easing: .inOut, color: blue))
        #expect(segments[1].length == .time(.seconds(90)) && segments[1].views[0].layout.sources == ["cam1"])
        #expect(
            segments[2].length == .frames(250) && segments[2].change == .cut && segments[2].audio == .source("cam2"))
        #expect(segments[3].views.map(\.name) == ["cam1", "duo", "slate", "grid cam1 cam2"])
        #expect(segments[3].every == .seconds(5) && segments[3].order == .random)
        #expect(segments[4].views[0].layout.inset == .init(x: 0.1, y: 0.1, width: 0.3) && segments[4].length == .take)
    }

    @Test("A source without video may provide a segment's audio, but is not part of its views")
    func unseen() throws {
        let read = { (segment: String) throws(ConfigurationFailure) in
            try RunDownReader.read(
                "segments: [\(segment)]", name: "show",
                known: RunDownReader.Known(sources: ["cam1"], unseen: ["audio"], scenes: []),
                files: RunDownFiles(directory: directory.path))
        }
        #expect(try read("{source: cam1, audio: audio}").segments.map(\.audio) == [.source("audio")])
        for segment in [
            "{source: audio}", "{scene: audio}", "{scene: {layout: pip, sources: [cam1, audio]}}",
            "{switch: [cam1, audio], every: 5s}",
        ] {
            do throws(ConfigurationFailure) {
                _ = try read(segment)
                Issue.record("\(segment)")
            } catch {
                let reason = "The source audio has no video."
                #expect(error.lines.count == 1 && error.lines[0].contains(reason), "\(error.lines)")
            }
        }
    }

    @Test("A run-down in JSON is parsed")
    func json() throws {
        let runDown = try read(#"{"segments": [{"source": "cam1", "duration": 2.5}, {"scene": "duo"}]}"#)
        #expect(runDown.segments.map(\.length) == [.time(.milliseconds(2500)), .take])
    }

    @Test(
        "An error in a run-down is reported with its position, and a misspelled name with a suggestion",
        arguments: [
            (
                "segments:\n  - sorce: cam1\n",
                "show.yaml:2:5: segments[0].sorce: There is no such key; is source meant?"
            ),
            ("segment: []\n", "show.yaml:1:1: segment: There is no such key; is segments meant?"),
            (
                "segments:\n  - source: cam3\n",
                "show.yaml:2:13: segments[0].source: There is no source cam3; is cam1 meant? There are cam1, cam2."
            ),
            ("segments:\n  - scene: dou\n", "segments[0].scene: There is no scene dou; is duo meant?"),
            (
                "segments:\n  - source: cam1\n    duration: 5 parsecs\n",
                "show.yaml:3:15: segments[0].duration: It is a length"
            ),
            ("segments:\n  - source: cam1\n    duration: ent\n", "is end meant?"),
            ("segments:\n  - source: cam1\n    duration: end\n", "segments[0].duration: Only a file has an end"),
            ("segments:\n  - source: cam1\n    frames: 2.5\n", "segments[0].frames: It is a whole number"),
            ("segments:\n  - source: cam1\n    duration: -1\n", "segments[0].duration: It is a length"),
            ("segments:\n  - source: cam1\n    in: 5s\n", "segments[0].in: It is for a file"),
            ("segments:\n  - source: cam1\n    scene: duo\n", "segments[0].scene: There is source, too"),
            ("segments:\n  - source: cam1\n    every: 5s\n", "segments[0].every: It is for switch."),
            ("segments:\n  - switch: [cam1, cam2]\n", "segments[0].switch: It is missing"),
            ("segments:\n  - duration: 5s\n", "show.yaml:2:5: segments[0]: It shows nothing"),
            (
                "segments:\n  - file: gone.mp4\n",
                "show.yaml:2:11: segments[0].file: There is no file gone.mp4 that can be read."
            ),
            ("segments:\n  - file: rtmp://host/app\n", "There is no file rtmp://host/app that can be read."),
            ("segments:\n  - file: .\n", "There is no file . that can be read."),
            (
                "segments:\n  - source: cam1\n    transition: {type: fad}\n",
                "segments[0].transition.type: It is cut, move, fade"
            ),
            ("segments:\n  - source: cam1\n    transition: {type: fade, seconds: 6}\n", "A transition lasts 0 to 5s."),
            (
                "segments:\n  - source: cam1\n    transition: {type: fade, color: black}\n",
                "segments[0].transition.color: It is for dip and flip, not for fade."
            ),
            (
                "segments:\n  - source: cam1\n    transition: {type: dip, color: red}\n",
                "segments[0].transition.color: It is a color such as"
            ),
            ("segments:\n  - source: cam1\n    audio: cam9\n", "segments[0].audio: It is follow, mix, cam1 or cam2"),
            ("segments:\n  - scene: {layout: pip, sources: [cam1]}\n", "takes 2 sources, not 1"),
            (
                "segments:\n  - scene: {layout: pip, sources: [cam1, cam2], inset: {corner: top-left, x: 0.1}}\n",
                "segments[0].scene.inset: An inset has a corner or x and y"
            ),
            (
                "segments:\n  - scene: {layout: pip, sources: [cam1, cam2], inset: {corner: top}}\n",
                "segments[0].scene.inset.corner: It is top-left, top-right"
            ),
            ("segments:\n  - scene: {layout: pip, sources: [cam1, cam9]}\n", "There is no source cam9."),
            ("segments: []\n", "show.yaml:1:11: segments: It is a list"),
            ("loop: yes\nsegments:\n  - source: cam1\n", "show.yaml:1:7: loop: It is true or false."),
            ("segments:\n  - source: cam1\n    source: cam2\n", "source: A key is here twice."),
            ("segments:\n  - source: [cam1\n", "This is no YAML"), ("", "The file is empty."), ("5", "It is a mapping"),
        ])
    func wrong(text: String, expected: String) {
        let lines = faults(text)
        #expect(lines.contains { $0.contains(expected) }, "\(lines)")
    }

    @Test("The error for a missing file lists existing files only if their directory is permitted")
    func missing() throws {
        let text = "segments:\n  - file: into.mp4\n"
        for name in ["notes.txt", ".hidden.mp4", "b.MOV"] { try directory.write([], to: name) }
        #expect(faults(text).first?.hasSuffix("that can be read. There are b.MOV, intro.mp4.") == true)
        #expect(faults(text, isConfined: true) == faults(text))
        for number in 1...6 { try directory.write([], to: "clip\(number).mp4") }
        let some = "There are b.MOV, clip1.mp4, clip2.mp4, clip3.mp4, clip4.mp4 and others."
        #expect(faults(text).first?.hasSuffix(some) == true)
        try FileManager.default.createDirectory(atPath: path("sub"), withIntermediateDirectories: false)
        let above = RunDownFiles(directory: path("sub"), isConfined: true)
        #expect(throws: RunDownFiles.Fault(description: "There is no file ../into.mp4 that can be read.")) {
            try above.resolve("../into.mp4")
        }
    }

    @Test("All errors in a run-down are reported at once, in the order of the file")
    func all() {
        let lines = faults("segments:\n  - source: cam3\n  - file: gone.mp4\n  - scene: x\nlop: true\n")
        #expect(lines.count == 4 && lines[0].contains(":2:") && lines[3].contains(":5:"), "\(lines)")
    }

    @Test("A run-down of more than 1000 segments is refused")
    func bounded() {
        let many = "segments:\n" + String(repeating: "  - source: cam1\n", count: RunDown.mostSegments + 1)
        #expect(faults(many).first?.contains("1 to 1000 segments") == true)
    }

    @Test("A run-down from the API may name only files in the directory of run-downs")
    func confined() throws {
        let text = { (path: String) in "segments:\n  - file: \(path)\n" }
        #expect(try read(text("intro.mp4"), isConfined: true).segments.count == 1)
        try FileManager.default.createSymbolicLink(atPath: path("link.mp4"), withDestinationPath: "/etc/passwd")
        for outside in ["/etc/passwd", "../../../../etc/passwd", "link.mp4"] {
            #expect(faults(text(outside), isConfined: true).first?.contains("is not in the directory") == true)
        }
    }
}
