// SPDX-License-Identifier: Apache-2.0

import Archive
import Foundation
import Media
import TestSupport
import Testing

@testable import Catalogue
@testable import Library

@Suite("Writing clips to the catalogue")
struct ClipWriterTests {
    private let place: TemporaryDirectory
    private let writer: ClipWriter

    init() throws {
        place = try TemporaryDirectory()
        writer = ClipWriter(ChannelArchive(place.path, channel: "test"))
    }

    private func note(_ id: String) {
        let clip = ClipMachine.Clip(id: id, run: "a1", first: 0, end: 5, isComplete: true)
        writer.note(CatalogueClip(clip, channel: "test", rate: FrameRate(25), start: 1_700_000_000_000, name: nil))
    }

    /// Waits until the catalogue has exactly the clips `ids`.
    private func expect(_ ids: [String], within limit: Duration = .seconds(30)) throws {
        let ledger = ChannelLedger(directory: try .prepare(place.path), channel: "test")
        try eventually("the catalogue has the clips \(ids)", within: limit) {
            writer.flush()
            return (try? ledger.clips().map(\.id).sorted()) == ids
        }
    }

    /// Moves the database away, and puts a directory at its path, so that no database can be created there.
    private func breakCatalogue() throws {
        // The old file is kept, so that a new file cannot get its inode number.
        if FileManager.default.fileExists(atPath: database) {
            try FileManager.default.moveItem(atPath: database, toPath: place.path("old"))
        }
        try FileManager.default.createDirectory(atPath: database, withIntermediateDirectories: false)
    }

    private func mendCatalogue() throws { try FileManager.default.removeItem(atPath: database) }

    private var database: String { place.path(CatalogueStore.fileName) }

    @Test("If writing clips failed and the catalogue was replaced, they are written to the new catalogue")
    func lostCatalogue() throws {
        note("a")
        try expect(["a"])
        try breakCatalogue()
        note("b")
        writer.flush()
        try mendCatalogue()
        try expect(["a", "b"])
    }

    @Test("A removed clip is not written again when the catalogue is replaced")
    func removed() throws {
        for id in ["a", "b"] { note(id) }
        try expect(["a", "b"])
        try breakCatalogue()
        writer.remove("a")
        writer.flush()
        try mendCatalogue()
        note("c")
        try expect(["b", "c"])
    }

    @Test("A flush writes a clip that could not be written before, without waiting for the retry")
    func flush() throws {
        try breakCatalogue()
        note("a")
        writer.flush()
        try mendCatalogue()
        // This limit is shorter than the interval between retries.
        try expect(["a"], within: .seconds(1))
    }

    @Test("If two changes of a clip could not be written, only the newer one is written later")
    func newer() throws {
        try breakCatalogue()
        note("a")
        writer.flush()
        let clip = ClipMachine.Clip(id: "a", run: "a1", first: 3, end: 9, isComplete: true)
        writer.note(CatalogueClip(clip, channel: "test", rate: FrameRate(25), start: 1_700_000_000_000, name: "new"))
        writer.flush()
        try mendCatalogue()
        try expect(["a"])
        let ledger = ChannelLedger(directory: try .prepare(place.path), channel: "test")
        #expect(try ledger.clips().first?.name == "new")
    }
}
