// SPDX-License-Identifier: Apache-2.0

import Archive
import Dispatch
import Foundation
import MP4
import Media
import RecordingSamples
import TestSupport
import Testing

@testable import Catalogue
@testable import Library
@testable import Segmenter

@Suite("The recordings of a channel in a directory that also contains other files")
struct ChannelArchiveTests {
    private static let all = Int64(0)..<Int64.max

    private let place: TemporaryDirectory
    private let directory: RecordDirectory
    private let archive: ChannelArchive

    init() throws {
        place = try TemporaryDirectory()
        directory = try .prepare(place.path)
        archive = ChannelArchive(place.path, channel: "test")
    }

    @Test(
        "The recording list reads the directory again only if it has changed, however many files are in it",
        arguments: [10, 1000])
    func pages(files: Int) throws {
        let names = (1...files).map { name($0) }
        let rows = names.enumerated().map { index, name in
            let begin = ProgramInstant.zero + .seconds(10 * index)
            return CatalogueSegment(
                record: SegmentRecord(
                    fileName: name, channel: "test", sequence: index + 1, start: start(index + 1), programStart: begin,
                    programEnd: begin + .seconds(10), frames: 250, audioSamples: 0, bytes: 0, ending: .rotate,
                    run: "b1"))
        }
        for name in names { try place.write([UInt8](), to: name) }
        try CatalogueStore(directory: place.path).put(rows, living: [], andFindGaps: false)
        let past = [FileAttributeKey.modificationDate: Date(timeIntervalSince1970: 1000)]
        try FileManager.default.setAttributes(past, ofItemAtPath: place.path)
        for _ in 0..<5 {
            let list = try archive.list(Self.all, limit: 50)
            #expect(list.recordings.map(\.name) == names.suffix(50).map { $0 })
            // The catalogue's journal can change the directory, but reading makes no journal.
            #expect(archive.openNames.reads == 1)
        }
    }

    /// When recording `number` begins. A new recording begins every ten seconds.
    private func start(_ number: Int) -> UTCTime {
        UTCTime(milliseconds: SampleRecording.start.milliseconds + Int64(number) * 10_000)
    }

    private func name(_ number: Int, channel: String = "test", format: RecordFormat = .hybrid) -> String {
        SegmentName(channel: channel, start: start(number), sequence: number, format: format).closed
    }

    private func openName(_ number: Int) -> String { name(number) + SegmentName.openMark }

    private func id(_ number: Int) -> String { RecordingID.id(of: name(number)) }

    /// The bytes of recording `number` while it is open. The program began with recording 1.
    private func opened(
        _ number: Int, seconds: Int = 4, run: String = "b1", ending: SegmentEnding = .stop
    ) throws -> [UInt8] {
        let sample = SampleRecording(seconds: seconds)
        var layout = try FragmentMap(SampleBytes(bytes: Array(sample.open.prefix(sample.fragments[0])))).layout
        let position = SegmentPosition(run: run, programStart: .zero + .seconds(10 * (number - 1)), ending: ending)
        let tags = MovieTags(
            channel: "test", start: start(number), encoderSettings: "x264 test settings", position: position)
        layout.userData = tags.box
        return MovieBox.openHead + MovieBox.open(layout) + sample.open.dropFirst(sample.fragments[0])
    }

    /// Makes recording `number`, of four seconds: writes an open file, which recovery then closes.
    private func record(_ number: Int, ending: SegmentEnding = .stop) throws {
        try place.write(try opened(number, ending: ending), to: openName(number))
        let entries = try SegmentRecovery.run(in: directory, channel: "test")
        #expect(entries.map(\.outcome) == [.completed(fileName: name(number), frames: 100, droppedBytes: 0)])
    }

    /// Writes the catalogue of all closed files, and closes it.
    private func makeCatalogue() {
        let catalogue = Catalogue(directory: directory, channel: "test", logger: quiet)
        catalogue.start()
        let done = DispatchSemaphore(value: 0)
        catalogue.finish { done.signal() }
        done.wait()
    }

    /// Adds files that are not recordings of the channel. Returns the names under which a list would show them by
    /// mistake.
    private func addStrangers() throws -> [String] {
        let (other, ours) = (SampleRecording(channel: "other"), SampleRecording(ending: .stop))
        try place.write(other.closed, to: name(5))
        try place.write(other.open, to: openName(6))
        try place.write(other.closed, to: name(7, channel: "other"))
        try place.write(ours.closed, to: "holiday.mp4")
        try place.write(Array("no movie".utf8), to: name(9))
        try place.write([UInt8](repeating: 0, count: 5000), to: name(10))
        try place.write(ours.closed, to: ".\(name(11))")
        try place.write(SampleRecording.streamHead(of: "other"), to: name(12, format: .ts))
        let files = FileManager.default
        try files.createDirectory(atPath: place.path("copies"), withIntermediateDirectories: false)
        try place.write(ours.closed, to: "copies/\(name(13))")
        try files.createSymbolicLink(atPath: place.path(name(14)), withDestinationPath: place.path("holiday.mp4"))
        try files.createDirectory(atPath: place.path(name(15)), withIntermediateDirectories: false)
        try place.write(SampleRecording(channel: "test-cam1").closed, to: name(16, channel: "test-cam1"))
        return [
            name(5), name(7, channel: "other"), "holiday.mp4", name(9), name(10), ".\(name(11))",
            name(12, format: .ts), "copies/\(name(13))", name(14), name(15), name(16, channel: "test-cam1"),
        ]
    }

    /// The refusals of all calls that take an identifier.
    private func answers(_ id: String) -> Set<Refusal.Kind?> {
        [
            refusal { _ = try archive.open(id) }, refusal { _ = try archive.finishedName(of: id) },
            refusal { _ = try archive.initialisation(of: id) }, refusal { _ = try archive.planDeletion(of: id) },
            refusal { _ = try archive.thumbnail(of: id, at: 0, width: 320, isExact: false) },
            refusal { try archive.setHold(true, of: id) }, refusal { try archive.setHold(false, of: id) },
        ]
    }

    private static let unknown: Set<Refusal.Kind?> = [.notFound]

    @Test(
        "A channel's list of recordings has its closed and open files and the gaps between them, and no other files",
        arguments: [false, true])
    func listed(hasCatalogue: Bool) throws {
        try record(1, ending: .rotate)
        try record(2)
        let strangers = try addStrangers()
        if hasCatalogue { makeCatalogue() }
        try place.write(try opened(3, seconds: 3, run: "c2"), to: openName(3))
        try place.write(try opened(4, seconds: 2, run: "d3"), to: openName(4))
        let writer = try FileDescriptor.open(existing: place.path(openName(3)))
        #expect(writer.lock())
        try archive.setHold(true, of: id(2))
        let list = try archive.list(Self.all, limit: 100)
        writer.unlock()
        #expect(list.recordings.map(\.id) == [id(1), id(2), id(3), id(4)])
        #expect(list.recordings.map(\.state) == [.finished, .finished, .recording, .damaged])
        #expect(list.recordings.map(\.durationSeconds) == [4, 4, 3, 2])
        #expect(list.recordings.map(\.frames) == [100, 100, 75, 50])
        #expect(list.recordings.map(\.start) == [1, 2, 3, 4].map { start($0).extended })
        #expect(list.recordings.map(\.isHeld) == [false, true, false, false])
        #expect(list.totals.count == 4 && list.totals.seconds == 13)
        #expect(list.gaps.map(\.start) == [UTCTime(milliseconds: start(1).milliseconds + 4000).extended])
        #expect(list.gaps.first?.durationSeconds == 6 && list.gaps.first?.frames == 150)
        for name in strangers { #expect(answers(RecordingID.id(of: name)) == Self.unknown, "\(name)") }
        #expect(try HoldMark.names(in: directory) == [name(2)])
    }

    @Test("The upload list has the channel's newest uploads with places and times, and is empty without a directory")
    func uploads() throws {
        let nowhere = ChannelArchive(place.path("none"), channel: "test")
        #expect(try nowhere.uploads(Self.all, limit: 10).uploads.isEmpty)
        let store = try CatalogueStore(directory: place.path)
        for (number, channel) in [(1, "test"), (2, "other"), (3, "test"), (4, "test")] {
            try store.noteUploaded(
                UploadEntry(
                    channel: channel, name: name(number), bytes: 10, sha256: nil, place: "archive:\(number)",
                    time: start(number).milliseconds))
        }
        let uploads = try archive.uploads(Self.all, limit: 2).uploads
        #expect(uploads.map(\.name) == [name(3), name(4)] && uploads.map(\.place) == ["archive:3", "archive:4"])
        #expect(uploads.map(\.time) == [start(3).extended, start(4).extended])
        let page = try archive.uploads(0..<start(3).milliseconds, limit: 2).uploads
        #expect(page.map(\.name) == [name(1)])
    }

    @Test("The recording list says what keeps each file from deletion, and when the file is old enough to be deleted")
    func outlook() throws {
        for number in 1...4 { try record(number) }
        makeCatalogue()
        try archive.setHold(true, of: id(2))
        try CatalogueStore(directory: place.path).setUpload(.waiting, of: name(2))
        // The beginning of file 3 is at 20 s of the program.
        let clip = CatalogueClip(
            .init(id: "goal", run: "b1", first: 550, end: 560, isComplete: true), channel: "test", rate: FrameRate(25),
            start: start(3).milliseconds, name: nil)
        _ = try ChannelLedger(directory: directory, channel: "test").note([clip], removing: [])
        let list = try archive.list(Self.all, limit: 100)
        #expect(list.recordings.map(\.keptFor) == [nil, ["hold", "upload"], ["clip"], nil])
        #expect(list.recordings.allSatisfy { $0.deleteAfter == nil })
        for (keep, least, age) in [(3600, 60, 3600), (60, 3600, 3600)] as [(Int, Int, Int64)] {
            let rules = RetentionRules(maximumAge: .seconds(keep), minimumAge: .seconds(least))
            let kept = ChannelArchive(place.path, channel: "test", rules: rules)
            let times = (1...4).map { UTCTime(milliseconds: start($0).milliseconds + 4000 + age * 1000).extended }
            let list = try kept.list(Self.all, limit: 100)
            #expect(list.recordings.compactMap(\.deleteAfter) == times)
            #expect(list.deletesNext?.compactMap(\.about) == [times[0], times[3]])
        }
        #expect(list.deletesNext == nil)
        let century = Int64(100 * 365 * 86_400)
        let rules = RetentionRules(maximumBytes: 1, minimumAge: .seconds(century))
        let sized = ChannelArchive(place.path, channel: "test", rules: rules)
        #expect(try sized.list(Self.all, limit: 100).recordings.allSatisfy { $0.deleteAfter == nil })
        // The list of next deletions has no files that are held or protected, but it has files outside of the requested
        // range.
        let next = try #require(try sized.list(0..<1, limit: 1).deletesNext)
        #expect(next.map(\.name) == [name(1), name(4)] && next.allSatisfy { $0.about == nil })
        let full = RetentionStatus(roomBytes: -1_000_000_000)
        let times = [1, 4].map { UTCTime(milliseconds: start($0).milliseconds + 4000 + century * 1000).extended }
        #expect(try sized.list(Self.all, limit: 1, retention: full).deletesNext?.compactMap(\.about) == times)
    }

    @Test("The recording list has the newest files and gaps in the requested range, with and without a catalogue")
    func overlapping() throws {
        for number in 1...4 { try record(number, ending: number == 4 ? .stop : .rotate) }
        var random = SeededRandom()
        let asked = (0..<40).map { _ in
            let from = start(1).milliseconds + Int64.random(in: -5000..<45_000, using: &random)
            let to = from + Int64.random(in: 1...20_000, using: &random)
            return (range: from..<to, limit: Int.random(in: 1...4, using: &random))
        }
        let plain = try asked.map { try archive.list($0.range, limit: $0.limit) }
        makeCatalogue()
        for (asked, plain) in zip(asked, plain) {
            let meets = { (number: Int, offset: Int64, length: Int64) in
                let from = start(number).milliseconds + offset
                return from < asked.range.upperBound && from + length >= asked.range.lowerBound
            }
            let files = Array((1...4).filter { meets($0, 0, 4000) }.suffix(asked.limit)).map { name($0) }
            let gaps = Array((1...3).filter { meets($0, 4000, 6000) }.suffix(asked.limit)).map {
                UTCTime(milliseconds: start($0).milliseconds + 4000).extended
            }
            let list = try archive.list(asked.range, limit: asked.limit)
            #expect(list.recordings.map(\.name) == files, "\(asked)")
            #expect(list.gaps.map(\.start) == gaps, "\(asked)")
            #expect(plain.recordings.map(\.name) == files, "\(asked)")
            #expect(plain.gaps.map(\.start) == gaps, "\(asked)")
        }
    }

    @Test("A file that was deleted by hand is not listed, and does not count towards the list's limit")
    func removedByHand() throws {
        for number in 1...3 { try record(number) }
        makeCatalogue()
        try FileManager.default.removeItem(atPath: place.path(name(3)))
        #expect(try archive.list(Self.all, limit: 10).recordings.map(\.name) == [name(1), name(2)])
        #expect(try archive.list(Self.all, limit: 1).recordings.map(\.name) == [name(2)])
    }

    @Test("An open transport stream is listed from the start in its name until its last write")
    func openStream() throws {
        let open = name(1, format: .ts) + SegmentName.openMark
        try place.write(SampleRecording.streamHead(of: "test"), to: open)
        let written = (start(1).milliseconds / 1000 + 60) * 1000
        let attributes = [FileAttributeKey.modificationDate: Date(timeIntervalSince1970: Double(written / 1000))]
        try FileManager.default.setAttributes(attributes, ofItemAtPath: place.path(open))
        let middle = start(1).milliseconds + 30_000
        let list = try archive.list(middle..<middle + 1, limit: 10)
        #expect(list.recordings.map(\.start) == [start(1).extended])
        #expect(list.recordings.map(\.end) == [UTCTime(milliseconds: written).extended])
        #expect(list.recordings.map(\.durationSeconds) == [Double(written - start(1).milliseconds) / 1000])
    }

    @Test("Lists and playlists are in the order of time, even if a crash left an older file open")
    func olderOpenFile() throws {
        try record(2)
        try place.write(try opened(1, run: "c2"), to: openName(1))
        let dates = ReadPlaylist(try archive.playlist(from: 0, to: nil)).dates.sorted { $0.key < $1.key }.map(\.value)
        #expect(dates == [start(1).milliseconds, start(2).milliseconds])
        #expect(try archive.list(Self.all, limit: 1).recordings.map(\.name) == [name(2)])
    }

    @Test("An open file's name does not identify a recording, and a held file that a crash left open is not deleted")
    func nameOfOpenFile() throws {
        try place.write(SampleRecording().open, to: openName(1))
        try archive.setHold(true, of: id(1))
        let planned = refusal { _ = try archive.planDeletion(of: id(1)) }
        #expect(planned == .conflict)
        let openID = RecordingID.id(of: openName(1))
        let plan = try? archive.planDeletion(of: openID)
        if let plan { _ = try? archive.delete(token: plan.token, subject: .recording(id: openID)) }
        #expect(place.files == [openName(1)])
        #expect(answers(openID) == Self.unknown)
        #expect(try HoldMark.names(in: directory) == [name(1)])
    }

    @Test("An open file of another channel is not served, even if its name could belong to this channel")
    func openFileOfOther() throws {
        try place.write(SampleRecording(channel: "other").open, to: openName(1))
        #expect(try archive.list(Self.all, limit: 1).recordings.isEmpty)
        #expect(answers(id(1)) == Self.unknown)
        #expect(try HoldMark.names(in: directory).isEmpty)
    }

    @Test("A playlist of recorded files covers their complete media, with markers at their times")
    func playlist() throws {
        try record(1, ending: .rotate)
        try record(2)
        makeCatalogue()
        let moment = UTCTime(milliseconds: start(2).milliseconds + 2500)
        try CatalogueStore(directory: place.path).put(
            CatalogueEvent(channel: "test", at: moment, kind: CatalogueEvent.marker, text: "Goal"))
        let list = ReadPlaylist(try archive.playlist(from: 0, to: nil))
        #expect(list.isEnded && list.breaks == [2])
        #expect(list.pieces.map(\.micros) == [Int64](repeating: 2_000_000, count: 4))
        #expect(list.pieces.map(\.marks) == [[], [], [], ["Goal"]])
        let sample = SampleRecording()
        let media = Array(sample.open.dropFirst(sample.fragments[0]))
        for number in 1...2 {
            let file = try archive.open(id(number))
            let pieces = list.pieces.filter { $0.file == id(number) }
            #expect(try pieces.flatMap { try file.read($0.bytes.lowerBound, $0.bytes.count) } == media)
            let head = try archive.initialisation(of: id(number))
            #expect(try FragmentMap(SampleBytes(bytes: head + media)).fragments.count == 4)
        }
    }
}
