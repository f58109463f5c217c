// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Logging
import Media
import Synchronization
import TestSupport
import Testing

@testable import Archive
@testable import Catalogue
@testable import Segmenter

/// Calls `action` at the first line that contains `text`.
private final class Trigger: Sendable {
    private struct Handler: LogHandler {
        let trigger: Trigger
        var logLevel = Logger.Level.debug
        var metadata: Logger.Metadata = [:]

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            guard "\(event.message)".contains(trigger.text) else { return }
            let action = trigger.action.withLock { action in
                defer { action = nil }
                return action
            }
            action?()
        }
    }

    private let text: String
    private let action: Mutex<(@Sendable () -> Void)?>

    init(at text: String, _ action: @escaping @Sendable () -> Void) {
        self.text = text
        self.action = Mutex(action)
    }

    /// Whether `action` was called.
    var isPulled: Bool { action.withLock { $0 == nil } }

    var logger: Logger { Logger(label: "test") { [self] _ in Handler(trigger: self) } }
}

/// A symbolic link stands in for a mount point: it is redirected to another directory.
@Suite("A disk that is mounted while the catalogue of another disk is opened")
struct ReplacedDiskTests {
    private let temporary: TemporaryDirectory
    private let place: String
    private let target: RecordDirectory

    /// On the second disk, the file `b.mp4` waits for its upload. The first disk, which is mounted, has no catalogue yet,
    /// and a file that cannot be read.
    init() throws {
        temporary = try TemporaryDirectory()
        place = temporary.path("place")
        try Self.mount("second", in: temporary)
        _ = try RecordDirectory.prepare(place)
        var row = CatalogueSegment(
            record: SegmentRecord(
                fileName: "b.mp4", channel: "test", sequence: 1, start: UTCTime(milliseconds: 1_795_269_790_123),
                programStart: 0, programEnd: 2_000_000_000, frames: 50, audioSamples: 96_000, bytes: 1000,
                ending: .rotate, run: "run"))
        row.upload = .waiting
        try CatalogueStore(directory: place).put([row], living: [])
        try temporary.write([], to: "second/\(Catalogue.uploadLockName(of: "test"))")
        try Self.mount("first", in: temporary)
        target = try RecordDirectory.prepare(place)
        try temporary.write("something that is no recording".utf8, to: "first/a.mp4")
    }

    private static func mount(_ name: String, in temporary: TemporaryDirectory) throws {
        try FileManager.default.createDirectory(atPath: temporary.path(name), withIntermediateDirectories: true)
        unlink(temporary.path("place"))
        try #require(symlink(temporary.path(name), temporary.path("place")) == 0)
    }

    @Test("It keeps its files that wait for upload, and its mark that unknown files wait", arguments: [false, true])
    func opening(hasMark: Bool) throws {
        if hasMark { try UploadMark.setAll(in: temporary.path("second")) }
        // The line is logged when the files of the first disk were read, which can take minutes.
        let trigger = Trigger(at: "not in the catalogue") { [temporary, target] in
            #expect(throws: Never.self) {
                try Self.mount("second", in: temporary)
                try target.checkMount()
            }
        }
        let catalogue = Catalogue(directory: target, channel: "test", logger: trigger.logger)
        catalogue.start()
        catalogue.waitUntilIdle()
        #expect(trigger.isPulled && !catalogue.mayDelete("b.mp4"))
        #expect(UploadMark.isSet(for: "test", in: temporary.path("second")) == hasMark)
        // The next write opens the catalogue of the second disk.
        catalogue.noteEvent(.input, "input 2 is on air")
        catalogue.waitUntilIdle()
        #expect(try CatalogueStore(reading: temporary.path("second")).events().count == 1)
        #expect(!catalogue.mayDelete("b.mp4"))
    }

    @Test("The upload states of the other disk are dropped")
    func states() throws {
        let hold = UploadHold(directory: target, channel: "test")
        let generation = target.generation
        try Self.mount("second", in: temporary)
        try target.checkMount()
        hold.load(["b.mp4": .done], of: generation)
        #expect(!hold.isLoaded && hold.state(of: "b.mp4") == .waiting)
    }
}
