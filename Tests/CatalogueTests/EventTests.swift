// SPDX-License-Identifier: Apache-2.0

import Archive
import Foundation
import GRDB
import Media
import TestSupport
import Testing

@testable import Catalogue

@Suite("Events in the catalogue")
struct EventTests {
    private let store: CatalogueStore

    init() throws { store = try CatalogueStore() }

    private func put(_ kind: String, _ text: String, at start: Int64, channel: String = "relay") throws {
        try store.put(CatalogueEvent(channel: channel, at: UTCTime(milliseconds: start), kind: kind, text: text))
    }

    private func file(_ start: Int64) throws -> CatalogueSegment {
        let text = """
            {"name":"relay_\(start)","channel":"relay","run":"a","start":\(start),"program_start":\(start)000000,"duration":1000000000,
             "late_frames":0,"frame_duration":40000000,"frames":25,"audio_samples":0,"bytes":1}
            """
        return try JSONDecoder().decode(CatalogueSegment.self, from: Data(text.utf8))
    }

    private func texts() throws -> [String] { try store.events().map(\.text) }

    @Test("Scene events are kept from the start of the oldest file on, together with the last one before it")
    func scenes() throws {
        for start: Int64 in [1000, 2000, 3000] { try put(SceneEvent.kind, "\(start)", at: start) }
        // As long as there is no file, it is unknown which scenes must be kept.
        #expect(try texts().count == 3)
        try store.put([file(2500), file(4000)], living: [])
        try put(CatalogueEvent.marker, "marker", at: 500)
        try put(SceneEvent.kind, "other", at: 1000, channel: "b")
        try put(SceneEvent.kind, "4500", at: 4500)
        #expect(try texts() == ["other", "2000", "3000", "marker", "4500"])
        try store.noteDeletion(of: "relay_2500", at: UTCTime(milliseconds: 5000))
        try put(SceneEvent.kind, "5000", at: 5000)
        #expect(try texts() == ["other", "3000", "marker", "4500", "5000"])
    }

    @Test("Scene events do not displace other events, and of every other kind the newest events are kept")
    func kinds() throws {
        try put(CatalogueEvent.marker, "first", at: 1)
        let most = Int64(CatalogueStore.mostEvents)
        for number in 0...most { try put("input", "\(number)", at: number) }
        for number in 0...most { try put(SceneEvent.kind, "\(number)", at: number) }
        let kinds = Dictionary(grouping: try store.events(), by: \.kind)
        #expect(kinds.mapValues(\.count) == ["marker": 1, "input": Int(most), SceneEvent.kind: Int(most) + 1])
        #expect(kinds["input"]?.first?.text == "1")
    }

    @Test("Reported events are stored with their time, in their order, under the names of their kinds")
    func reported() throws {
        let temporary = try TemporaryDirectory()
        let catalogue = Catalogue(
            directory: try RecordDirectory.prepare(temporary.path), channel: "relay",
            wallClock: { UTCTime(milliseconds: 7000) }, logger: quiet)
        for kind in [EventKind.input, .marker, .operator] { catalogue.noteEvent(kind, "of \(kind)") }
        catalogue.waitUntilIdle()
        let events = try CatalogueStore(reading: temporary.path).events()
        #expect(events.map(\.kind) == ["input", "marker", "operator"] && events[1].kind == CatalogueEvent.marker)
        #expect(events.map(\.text) == ["of input", "of marker", "of operator"])
        #expect(events.allSatisfy { $0.start == 7000 && $0.channel == "relay" })
    }

    @Test("A scene event is stored as JSON, whatever characters its name contains, and displayed as plain text")
    func sceneAsJSON() throws {
        let scene = SceneEvent(
            name: "my clip.mp4", layout: "pip", sources: ["cam1", "file"], frame: 7, run: "3f2a", transition: "fade",
            seconds: 0.5, details: [SceneEvent.detail("file", "/a b/50%: ä=1.mp4"), "in=1.5s"])
        try store.put(CatalogueEvent(channel: "relay", at: UTCTime(milliseconds: 1), scene: scene))
        let event = try #require(try store.events().first)
        #expect(event.scene == scene && event.text == scene.text && event.kind == SceneEvent.kind)
        let written = try store.write { try String.fetchAll($0, sql: "SELECT text FROM events") }
        #expect(written.count == 1 && SceneEvent(json: written[0]) == scene)
    }

    @Test("Scene events stored as plain text are converted to JSON once; other text stays unchanged")
    func rewritten() throws {
        let words = ["duo: pip cam1 cam2 width=0.3 from frame 120 of 3f2a (fade 0.5 s)", "nothing of the kind"]
        for (index, text) in words.enumerated() { try put(SceneEvent.kind, text, at: Int64(index)) }
        try put(CatalogueEvent.marker, words[0], at: 9)
        let written = { [store] in
            try store.write { try String.fetchAll($0, sql: "SELECT text FROM events ORDER BY start") }
        }
        #expect(try written() == words + [words[0]])
        // The scenes can be read even before they are converted.
        #expect(try store.events().map(\.scene?.frame) == [120, nil, nil])
        for _ in 1...2 {
            try store.write { try CatalogueSchema.rewriteScenes($0) }
            let texts = try written()
            #expect(SceneEvent(json: texts[0]) == SceneEvent(words: words[0]) && texts[1...] == [words[1], words[0]])
        }
        #expect(try store.events().map(\.text) == words + [words[0]])
    }

    @Test("Events are listed in the order in which they were reported, even if the clock was set back")
    func order() throws {
        try put(SceneEvent.kind, "first", at: 9000)
        try put(SceneEvent.kind, "second", at: 1000)
        #expect(try texts() == ["first", "second"])
    }
}
