// SPDX-License-Identifier: Apache-2.0

import Archive
import Foundation
import Testing

@testable import Catalogue

@Suite("Events of the catalogue")
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

    @Test("Scenes stay as long as there are files of their time, and the one before them, in which the first begins")
    func scenes() throws {
        for start: Int64 in [1000, 2000, 3000] { try put(SceneEvent.kind, "\(start)", at: start) }
        // Without a file nobody knows yet what is to be kept.
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

    @Test("Many scenes do not push out what else happened, and the newest of each other kind are kept")
    func kinds() throws {
        try put(CatalogueEvent.marker, "first", at: 1)
        let most = Int64(CatalogueStore.mostEvents)
        for number in 0...most { try put("input", "\(number)", at: number) }
        for number in 0...most { try put(SceneEvent.kind, "\(number)", at: number) }
        let kinds = Dictionary(grouping: try store.events(), by: \.kind)
        #expect(kinds.mapValues(\.count) == ["marker": 1, "input": Int(most), SceneEvent.kind: Int(most) + 1])
        #expect(kinds["input"]?.first?.text == "1")
    }

    @Test("They come in the order in which they were told, though the clock was set back")
    func order() throws {
        try put(SceneEvent.kind, "first", at: 9000)
        try put(SceneEvent.kind, "second", at: 1000)
        #expect(try texts() == ["first", "second"])
    }
}
