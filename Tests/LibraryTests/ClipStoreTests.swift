// SPDX-License-Identifier: Apache-2.0

import Archive
import Dispatch
import Glibc
import Media
import RecordingSamples
import Synchronization
import TestSupport
import Testing

@testable import Catalogue
@testable import Library

@Suite("The clips of a channel")
struct ClipStoreTests {
    private let place: TemporaryDirectory
    private let show = SampleShow()
    private let book: ClipStore

    init() throws {
        place = try TemporaryDirectory()
        book = ClipStore(ChannelArchive(place.path, channel: "test"), of: show.source)
    }

    @Test("If a clip's button is released after the recording ended, the clip ends at the released frame")
    func lateRelease() throws {
        show.record(36)
        for id in ["x", "y", "z"] { _ = try book.start(ClipStart(id: id, at: 36)) }
        show.stop()
        try place.write(SampleRecording(seconds: 40).closed, to: SampleRecording.name)
        #expect(try book.stop("x", at: 38, newest: 41)?.frames == 50)
        // The first stop has made the store read the file, so the other clips end at the file's end for now.
        #expect(try book.clip("y").frames == 100)
        #expect(try book.stop("y", at: nil, newest: 39)?.frames == 75)
        #expect(try book.stop("y", at: 37, newest: 42)?.frames == 75)
        #expect(try book.stop("z", at: 42, newest: 42)?.frames == 100)
    }

    @Test("If a clip's button is released after a restart of the program, the clip stays as it was recorded")
    func releaseInAnotherProgram() throws {
        show.record(36)
        for id in ["x", "y"] { _ = try book.start(ClipStart(id: id, at: 36)) }
        try place.write(SampleRecording(seconds: 40).closed, to: SampleRecording.name)
        show.record(2, run: "b2")
        #expect(try book.stop("x", at: 1, newest: 2)?.frames == 100)
        #expect(try book.stop("y", at: nil, newest: 37)?.frames == 100)
    }

    @Test("A press or release of a clip's button without a time applies to the newest frame at that moment")
    func newest() throws {
        show.record(6)
        var press = ClipStart(id: "x")
        press.newest = 4
        #expect(try book.start(press).clip.programSeconds == 4)
        #expect(try book.stop("x", at: nil, newest: 5)?.frames == 25)
    }

    @Test("A press of a clip's button that is repeated or refused begins no recording")
    func needless() throws {
        #expect(try book.start(ClipStart(id: "x", at: 4)).isNew)
        #expect(show.begun == 1)
        show.stop()
        #expect(try !book.start(ClipStart(id: "x", at: 4)).isNew)
        #expect(throws: Refusal.self) { try book.start(ClipStart(id: "y", at: 100)) }
        #expect(throws: Refusal.self) { try book.stop("y", at: 100, newest: 10) }
        #expect(show.begun == 1)
    }

    @Test("The files of a run that was recorded for clips are deleted when that run, but not another one, is discarded")
    func discarded() throws {
        try place.write(SampleRecording(seconds: 4).closed, to: SampleRecording.name)
        #expect(try !book.archive.discard(run: "b1"))
        #expect(try book.archive.files(ofRun: "a1").count == 1)
        #expect(try book.archive.discard(run: "a1"))
        #expect(try book.archive.files(ofRun: "a1").isEmpty)
    }

    @Test("A clip's audio offset is measured when the clip is complete, and stored in the catalogue")
    func audioOffset() throws {
        show.record(6)
        _ = try book.start(ClipStart(id: "x", at: 1))
        #expect(try book.stop("x", at: 2, newest: 6)?.audioOffsetSeconds == nil)
        show.stop()
        try place.write(SampleRecording().closed, to: SampleRecording.name)
        #expect(try book.clip("x").state == .done)
        book.measuring.sync {}
        let offset = try #require(try book.clip("x").audioOffsetSeconds)
        // The offset includes the packet before the first audible one. A packet lasts 21.3 ms.
        #expect(offset <= -0.0213 && offset > -0.0427)
        book.writer.flush()
        let noted = try ChannelLedger(directory: try .prepare(place.path), channel: "test").clips()
        #expect(noted.map(\.audioOffset) == [Int64((offset * 1e9).rounded())])
    }

    @Test("Many concurrent presses of clip buttons begin one recording, and each press begins a clip")
    func together() throws {
        let refused = Mutex(0)
        DispatchQueue.concurrentPerform(iterations: 8) { number in
            do {
                _ = try book.start(ClipStart(id: "\(number)", at: 4))
            } catch {
                refused.withLock { $0 += 1 }
            }
        }
        #expect(refused.withLock { $0 } == 0 && show.begun == 1)
        #expect(try book.list().count == 8)
    }

    @Test("Above the maximum a clip replaces the oldest exported one, and a clip without files is reported as gone")
    func many() throws {
        let rows = (0..<ClipMachine.mostClips).map { number in
            var row = CatalogueClip(
                .init(id: "\(number)", run: "old", first: 0, end: 5, isComplete: true), channel: "test",
                rate: FrameRate(25), start: 1_700_000_000_000 + Int64(number), name: nil)
            if [7, 9].contains(number) { row.released = 1_700_000_000_000 }
            return row
        }
        _ = try ChannelLedger(directory: try .prepare(place.path), channel: "test").note(rows, removing: [])
        show.record(6)
        #expect(try book.list().filter { $0.state == .gone }.map(\.id) == ["7", "9"])
        // A refused press does not remove any clip.
        #expect(throws: Refusal.self) { try book.start(ClipStart(id: "w", at: 8.5)) }
        #expect(try book.clip("7").state == .gone)
        #expect(try book.start(ClipStart(id: "x", at: 4)).isNew)
        #expect(throws: Refusal.self) { try book.clip("7") }
        #expect(try book.start(ClipStart(id: "y", at: 4)).isNew)
        #expect(throws: Refusal.self) { try book.clip("9") }
        #expect(throws: Refusal.self) { try book.start(ClipStart(id: "z", at: 4)) }
        #expect(try book.list().count == ClipMachine.mostClips)
    }

    @Test("A clip that begins before the directory exists stays when the clips that it contains are read")
    func directoryAppears() throws {
        let book = ClipStore(ChannelArchive(place.path("new"), channel: "test"), of: show.source)
        show.record(6)
        _ = try book.start(ClipStart(id: "x", at: 4))
        // The clip cannot be written yet.
        book.writer.flush()
        try store(["old"], in: place.path("new"))
        #expect(try book.list().map(\.id) == ["old", "x"])
        #expect(try book.stop("x", at: 5, newest: 6)?.frames == 25)
    }

    @Test("The clips of a disk that is mounted over the empty directory are read, and a removed clip does not return")
    func mountedLate() throws {
        let (disk, path) = (place.path("disk"), place.path("mount"))
        let book = ClipStore(ChannelArchive(path, channel: "test"), of: show.source)
        try store(["old", "gone"], in: disk)
        _ = try RecordDirectory.prepare(path)
        show.record(6)
        _ = try book.start(ClipStart(id: "x", at: 4))
        #expect(try book.list().map(\.id) == ["x"])
        book.writer.flush()
        try #require(rename(path, place.path("empty")) == 0 && rename(disk, path) == 0)
        #expect(Set(try book.list().map(\.id)) == ["old", "gone", "x"])
        try book.remove("gone")
        #expect(Set(try book.list().map(\.id)) == ["old", "x"])
        book.writer.flush()
        try #require(rename(path, disk) == 0 && rename(place.path("empty"), path) == 0)
        #expect(try book.list().count == 2)
        try #require(rename(path, place.path("empty")) == 0 && rename(disk, path) == 0)
        #expect(Set(try book.list().map(\.id)) == ["old", "x"])
    }

    @Test("A clip that was removed while its disk was away does not return with the disk")
    func removedWithoutDisk() throws {
        let (disk, path) = (place.path("disk"), place.path("mount"))
        let book = ClipStore(ChannelArchive(path, channel: "test"), of: show.source)
        try store(["old", "gone"], in: path)
        #expect(try book.list().count == 2)
        try #require(rename(path, disk) == 0)
        _ = try RecordDirectory.prepare(path)
        try book.remove("gone")
        book.writer.flush()
        #expect(try book.list().map(\.id) == ["old"])
        // The directory of the disk returns with another number, and still contains the row.
        try #require(rename(path, place.path("empty")) == 0)
        try moveContents(of: disk, to: path)
        #expect(try ChannelLedger(directory: try .existing(path), channel: "test").clips().count == 2)
        #expect(try book.list().map(\.id) == ["old"])
    }

    @Test("The clips of a disk that replaces another one are read, although both directories have the same number")
    func replacedDisk() throws {
        let (second, path) = (place.path("second"), place.path("mount"))
        let book = ClipStore(ChannelArchive(path, channel: "test"), of: show.source)
        for (disk, clip) in [(path, "a"), (second, "b")] { try store([clip], in: disk) }
        #expect(try book.list().map(\.id) == ["a"])
        let number = FileIdentity(path)
        try moveContents(of: path, to: place.path("first"))
        try moveContents(of: second, to: path)
        #expect(FileIdentity(path) == number)
        #expect(try Set(book.list().map(\.id)) == ["a", "b"])
    }

    @Test("No request to begin, end, name or remove a clip looks for another disk, and a list of clips does")
    func noDisk() throws {
        let (disk, path) = (place.path("disk"), place.path("mount"))
        let book = ClipStore(ChannelArchive(path, channel: "test"), of: show.source)
        try store(["new"], in: disk)
        try store(["old"], in: path)
        show.record(6)
        #expect(try book.start(ClipStart(id: "x", at: 4)).isNew)
        #expect(try book.clip("old").state == .done)
        book.writer.flush()
        try #require(rename(path, place.path("away")) == 0 && rename(disk, path) == 0)
        func isRead() -> Bool { book.state.withLock { $0.machine.clip("new") != nil } }
        _ = try book.start(ClipStart(id: "y", at: 4))
        _ = try book.stop("x", at: 5, newest: 6)
        #expect(try book.rename("x", to: "goal").name == "goal")
        try book.remove("old")
        // The checks whether the recording is still needed do the same.
        try book.look()
        show.stop()
        _ = try book.stop("y", at: 5, newest: 6)
        #expect(!isRead())
        #expect(try Set(book.list().map(\.id)) == ["new", "x", "y"])
        #expect(isRead())
    }

    @Test("A new clip with the ID of a removed clip without files is not reported as gone")
    func reusedID() throws {
        var row = CatalogueClip(
            .init(id: "x", run: "old", first: 0, end: 5, isComplete: true), channel: "test", rate: FrameRate(25),
            start: 1_700_000_000_000, name: nil)
        row.released = 1_700_000_000_000
        _ = try ChannelLedger(directory: try .prepare(place.path), channel: "test").note([row], removing: [])
        show.record(6, recorded: 6)
        #expect(try book.list().map(\.state) == [.gone])
        try book.remove("x")
        _ = try book.start(ClipStart(id: "x", at: 2))
        _ = try book.stop("x", at: 3, newest: 6)
        let clip = try book.clip("x")
        #expect(clip.state == .done && clip.frames == 25)
    }

    @Test("A clip that ends while the disk is full consists of the frames that were recorded")
    func fullDisk() throws {
        show.record(6, recorded: 4)
        _ = try book.start(ClipStart(id: "x", at: 4))
        #expect(try book.stop("x", at: 5.6, newest: 6)?.state == .ending)
        show.record(6, recorded: 4.8, isSuspended: true)
        let clip = try book.clip("x")
        #expect(clip.state == .done && clip.frames == 20)
    }

    /// Stores complete clips with the IDs `ids` in the catalogue of the record directory `path`.
    private func store(_ ids: [String], in path: String) throws {
        let rows = ids.map { id in
            CatalogueClip(
                .init(id: id, run: "old", first: 0, end: 5, isComplete: true), channel: "test", rate: FrameRate(25),
                start: 1_700_000_000_000, name: nil)
        }
        _ = try ChannelLedger(directory: try .prepare(path), channel: "test").note(rows, removing: [])
    }

    /// Moves all entries of the directory `source` to the directory `target`, which is created if it is missing.
    private func moveContents(of source: String, to target: String) throws {
        try #require(mkdir(target, 0o700) == 0 || errno == EEXIST)
        for name in try RecordDirectory.names(in: source) where name != "." && name != ".." {
            try #require(rename("\(source)/\(name)", "\(target)/\(name)") == 0)
        }
    }
}
