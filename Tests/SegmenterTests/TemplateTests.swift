// SPDX-License-Identifier: Apache-2.0

import Foundation
import Media
import TestSupport
import Testing

@testable import Archive
@testable import Segmenter

@Suite struct TemplateTests {
    private static let start = UTCTime(milliseconds: 1_795_269_790_123)

    private func name(_ text: String, sequence: Int = 7, offset: Int = 0) throws -> SegmentName {
        SegmentName(
            channel: "c", start: Self.start, sequence: sequence, template: try NameTemplate(parsing: text),
            offset: offset)
    }

    @Test(arguments: [
        ("{channel}_{start}_{sequence}", "c_20261121T140310.123Z_000007"),
        ("%Y-%m-%d/{channel}_{time}_{sequence}", "2026-11-21/c_14-03-10_000007"),
        ("{year}/{month}/{day}/{hour}{minute}{second}", "2026/11/21/140310"),
        ("{date} %H.%M.%S 100%%", "2026-11-21 14.03.10 100%"), ("{sequence}%j%y", "00000732526"),
    ]) func `The fields of a name template are replaced by the file's channel, time and number`(
        text: String, path: String
    ) throws {
        #expect(try name(text).description == path)
        #expect(try name(text).open == path + ".mp4.part")
    }

    @Test func `Dates and times in file names use the given time zone, and {start} is always UTC`() throws {
        #expect(
            try name("{date}_{time}_{start}", offset: 36_000).description == "2026-11-22_00-03-10_20261121T140310.123Z")
    }

    @Test(arguments: [
        "{channel}_{start}_{sequence}", "%Y-%m-%d/{channel}_{time}_{sequence}", "{sequence}%j%y", "a{sequence}",
    ])
    func `A name template recognizes its own file names, even with a number, and tells channels apart`(text: String)
        throws
    {
        let template = try NameTemplate(parsing: text)
        for (sequence, suffix) in [(7, ".mp4"), (1_234_567, ".mp4.part"), (8, "-2.mp4"), (9, ".broken"), (10, ".ts")] {
            let path = try name(text, sequence: sequence).description + suffix
            let found = SegmentName(usedBy: path, channel: "c", template: template)
            #expect(found?.sequence == sequence, "\(path)")
            #expect(
                text.contains("channel") ? SegmentName(usedBy: path, channel: "d", template: template) == nil : true)
        }
    }

    @Test(arguments: [
        ("{channel}_{number}", "no field {number}"), ("{channel", "no }"), ("a}{sequence}", "without its {"),
        ("%Q{sequence}", "no %Q"), ("%", "no %"), ("../{sequence}", "below the record directory"),
        ("/etc/{sequence}", "below the record directory"), ("a//{sequence}", "below the record directory"),
        ("{channel}{sequence}", "no digit"), ("{sequence}{channel}", "no digit"), ("{start}{channel}", "no digit"),
        ("{channel}%Y_{time}", "no digit"), ("{channel}10{sequence}", "no digit"),
        ("{channel}{channel}_{sequence}", "no digit"),
        ("{sequence}/", "below the record directory"), ("", "below the record directory"),
        (".{sequence}", "below the record directory"), ("a/../{sequence}", "below the record directory"),
        ("{channel}", "the same for many"), ("%Y-%m-%d/%H-%M", "the same for many"),
        ("a/b/c/d/e/{sequence}", "more than 4"), ("{sequence}.mp4", "extension"), ("a:b{sequence}", "cannot store"),
        ("\u{7}{sequence}", "cannot store"), (String(repeating: "a", count: 300) + "{sequence}", "too long"),
    ]) func `An invalid name template is refused in a sentence with the reason`(text: String, words: String) {
        do {
            _ = try NameTemplate(parsing: text)
            Issue.record("\(text) was taken")
        } catch {
            #expect(error.description.contains(words), "\(error.description)")
        }
    }

    @Test
    func `Files are recorded into one directory per day, and the next run finds them in these directories`() throws {
        let directory = try TemporaryDirectory()
        let template = try NameTemplate(parsing: "{date}/{channel}-{sequence}")
        for run in 1...2 {
            let configuration = RecorderConfiguration(
                directory: try .prepare(directory.path, template: template), channel: "test",
                length: .duration(.seconds(2)), programStart: Self.start)
            let recorder = Recorder(
                configuration: configuration, description: description(rate: FrameRate(25)), keyframes: KeyframeSpy(),
                logger: quiet)
            let packets = syntheticProgram(rate: FrameRate(25), frames: 100, isKeyframe: { $0 % 25 == 0 })
            Recording(directory: directory, recorder: recorder).record(packets)
            let files = try RecordDirectory.prepare(directory.path, template: template).entries()
            #expect(files.count == run * 2)
            #expect(files.last?.hasSuffix("/test-00000\(run * 2).mp4") == true, "\(files)")
            #expect(recorder.status.lastFinished == files.last)
        }
        let record = try RecordDirectory.prepare(directory.path, template: template)
        #expect(try record.lastSequence(of: "test") == 4)
        // A crash leaves one file open.
        let last = try #require(try record.entries().last)
        try FileManager.default.moveItem(atPath: directory.path(last), toPath: directory.path(last + ".part"))
        #expect(try SegmentRecovery.run(in: record, channel: "test").map(\.outcome) == [.renamed(fileName: last)])
    }

    @Test func `If two files would have the same name, one gets a number`() throws {
        let directory = try TemporaryDirectory()
        let template = try NameTemplate(parsing: "{date}_{time}")
        let configuration = RecorderConfiguration(
            directory: try .prepare(directory.path, template: template), channel: "test",
            length: .duration(.seconds(1)), programStart: UTCTime(milliseconds: 1_795_269_790_000))
        // The names repeat within one second, because the clock is set back after it.
        let recorder = Recorder(
            configuration: configuration, description: description(rate: FrameRate(25)), keyframes: KeyframeSpy(),
            wallClock: { UTCTime(milliseconds: 1_795_269_790_000) }, logger: quiet)
        let recording = Recording(directory: directory, recorder: recorder)
        // One packet at a time, because dates depend on what waits in the queue.
        for packet in syntheticProgram(rate: FrameRate(25), frames: 250, isKeyframe: { $0 % 25 == 0 }) {
            recording.feed([packet])
            recorder.waitUntilIdle()
        }
        recording.finish()
        #expect(directory.files.count == 10)
        #expect(directory.files.contains { $0.hasSuffix("-1.mp4") })
        #expect(recorder.status.framesWritten == 250 && recorder.status.gapCount == 0)
    }
}
