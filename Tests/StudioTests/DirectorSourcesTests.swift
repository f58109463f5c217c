// SPDX-License-Identifier: Apache-2.0

import Ingest
import Media
import Synchronization
import TestSupport
import Testing

@testable import Program
@testable import Studio

@Suite("Requests about sources")
struct DirectorSourcesTests {
    private let stage: DirectorStage
    private var director: Director { stage.director }

    init() throws { stage = try DirectorStage() }

    /// Expects that `request` is refused with this text, and that nothing changes.
    private func refuses(_ words: String, _ name: String, _ request: SourceRequest) throws {
        let before = try stage.fingerprint()
        let refusal = #expect(throws: Refusal.self, "\(words)") { try director.change(name, request) }
        #expect(refusal?.detail.contains(words) == true, "\(words): \(refusal?.detail ?? "")")
        #expect(try stage.fingerprint() == before)
    }

    @Test("The configured choice of audio applies to each scene, and is reported")
    func audio() throws {
        let all = DirectorStage.cameras + ["voice"]
        let choices: [(Director.AudioChoice, String, [[String]])] = [
            (.follow, "follow", [["cam2"], ["cam1"], []]), (.mix, "mix", [all, all, all]),
            (.source("voice"), "voice", [["voice"], ["voice"], ["voice"]]),
            (.source("cam3"), "cam3", [["cam3"], ["cam3"], ["cam3"]]),
        ]
        for (choice, word, heard) in choices {
            let stage = try DirectorStage(audio: choice)
            #expect(stage.director.report.audioFrom == word)
            for (scene, heard) in zip(["cam2", "duo", "slate"], heard) {
                try stage.put(scene)
                #expect(stage.heard(stage.director.bus.scene) == heard, "\(word) with \(scene)")
            }
            // The slate is on air, and cam2 in the preview: all other wanted sources are wanted for their audio alone.
            for name in all {
                let isHeard = heard[2].contains(name)
                #expect(stage.director.isWanted(name, orHeard: true) == (isHeard || name == "cam2"), "\(word) \(name)")
                #expect(stage.director.isWanted(name, orHeard: false) == (name == "cam2"), "\(word) \(name)")
            }
        }
    }

    @Test("The state of each source is reported in the configured order")
    func report() throws {
        let sources = director.report.sources
        #expect(sources.map(\.name) == ["cam1", "cam2", "cam3", "voice"] && director.report.scenes == ["duo"])
        #expect(sources.map(\.hasVideo) == [true, true, true, false])
        #expect(sources.map(\.input) == ["main", nil, "slate", nil])
        #expect(sources.map(\.isOnAir) == [true, false, false, false])
        #expect(sources.map(\.isInPreview) == [false, true, false, false])
        #expect(sources.map(\.problem) == [nil, "Only keyframes are shown.", nil, nil])
        #expect(sources.map(\.framesLate) == [3, nil, nil, nil])
        #expect(sources.map(\.framesDropped) == [5, nil, nil, nil])
        #expect(sources.map(\.whenOff) == [nil, nil, "pause", nil])
        #expect(Array(director.heardLevels.keys) == ["voice"])
    }

    @Test("Gain, mute and offset of a source change within their limits; a request beyond a limit has no effect")
    func faders() throws {
        var random = SeededRandom()
        let numbers: [Double?] = [
            nil, nil, nil, 0, 1, -0.5, -0.501, 2, 2.001, -60, -60.001, 20, 20.001, .nan, .infinity, -.infinity,
        ]
        let truths: [Bool?] = [nil, true, false]
        var (gain, isMuted, offset) = (0.0, false, 0.0)
        var refused = 0
        for _ in 0..<500 {
            let request = SourceRequest(
                gain: numbers[Int.random(in: numbers.indices, using: &random)],
                muted: truths[Int.random(in: truths.indices, using: &random)],
                audioOffset: numbers[Int.random(in: numbers.indices, using: &random)])
            let isGain = request.gain.map { $0 >= -60 && $0 <= 20 } ?? true
            let isOffset = request.audioOffset.map { $0 >= -0.5 && $0 <= 2 } ?? true
            if isGain, isOffset {
                try director.change("cam2", request)
                gain = request.gain ?? gain
                isMuted = request.muted ?? isMuted
                offset = request.audioOffset ?? offset
            } else {
                refused += 1
                let words = isGain ? "audioOffset is from -0.5 to 2 s." : "gain is from -60 to 20 dB."
                try refuses(words, "cam2", request)
            }
            let source = director.report.sources[1]
            #expect(source.gain == gain && source.isMuted == isMuted && source.audioOffset == offset, "\(request)")
        }
        #expect(refused > 50)
        // The other sources are unchanged.
        for source in director.report.sources where source.name != "cam2" {
            #expect(source.gain == 0 && !source.isMuted && source.audioOffset == 0)
        }
        try refuses("There is no source ghost. There are cam1, cam2, cam3, voice.", "ghost", SourceRequest(muted: true))
    }

    @Test("The audio of a live source without a buffer can be delayed, but not played earlier")
    func early() throws {
        let rate = DirectorStage.format.frameRate
        let feed = SourceFeed(pacing: .live(frameRate: rate), frameRate: rate, audio: .program)
        director.sources[0].bus.show(Scene(video: .feed(feed), audio: feed))
        try refuses("The audio of cam1 can be 0.0 s earlier", "cam1", SourceRequest(gain: 3, audioOffset: -0.1))
        try director.change("cam1", SourceRequest(audioOffset: 0.1))
        // The limit of another source is not known before it has any audio.
        try director.change("cam2", SourceRequest(audioOffset: -0.5))
        #expect(director.report.sources.map(\.audioOffset) == [0.1, -0.5, 0, 0])
    }

    @Test("A request plays a file from a position only if no other part of the request is refused")
    func files() throws {
        try director.change("cam3", SourceRequest(gain: -3, seek: 12.5))
        try director.change("cam3", SourceRequest(restart: true))
        try director.change("cam3", SourceRequest(muted: true, restart: false))
        try director.change("cam3", SourceRequest(seek: 604_800))
        #expect(stage.file.moments.withLock { $0 } == [.milliseconds(12_500), .zero, .seconds(604_800)])
        let wrong: [Double] = [-0.001, 604_800.001, .nan, .infinity]
        for seek in wrong {
            try refuses("seek is a time in the file", "cam3", SourceRequest(gain: 1, seek: seek))
        }
        try refuses("gain is from", "cam3", SourceRequest(gain: 21, seek: 1))
        try refuses("audioOffset is from", "cam3", SourceRequest(audioOffset: 3, restart: true))
        try refuses("seek and restart are for files", "cam1", SourceRequest(gain: 1, seek: 1))
        #expect(stage.file.moments.withLock { $0.count } == 3)
        #expect(director.report.sources[2].gain == -3 && director.report.sources[2].isMuted)
    }

    @Test("A source has a snapshot once it has shown a frame; until then the request is refused")
    func snapshot() throws {
        let refused: [(String, Refusal.Kind)] = [("ghost", .notFound), ("voice", .conflict), ("cam1", .conflict)]
        for (name, kind) in refused {
            let refusal = #expect(throws: Refusal.self) { try director.snapshot(of: name, width: 32) }
            #expect(refusal?.kind == kind, "\(name)")
        }
        let frame = SlatePattern.frame(DirectorStage.format, lines: [])
        director.sources[0].bus.show(Scene(video: .still(frame), audio: nil))
        let image = try director.snapshot(of: "cam1", width: 32)
        // A JPEG file's first and last marker (ISO/IEC 10918-1, B.1.1.3).
        #expect(image.prefix(2) == [0xFF, 0xD8] && image.suffix(2) == [0xFF, 0xD9])
    }
}
