// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Media
import Synchronization
import TestSupport
import Testing

@testable import Archive
@testable import MP4
@testable import Segmenter

/// Records what a recorder reports about its files.
private final class ToldFiles: RecordingObserver {
    let records = Mutex<[SegmentRecord]>([])
    let gaps = Mutex<[RecordingGap]>([])
    func segmentFinished(_ record: SegmentRecord) { records.withLock { $0.append(record) } }
    func segmentRecovered(fileName: String) { Issue.record("nothing can be read of \(fileName)") }
    func gapEnded(_ gap: RecordingGap, channel: String, start: UTCTime) { gaps.withLock { $0.append(gap) } }
}

/// A file with bytes that the disk cannot read.
private struct BadSector: ByteSource {
    let bytes: [UInt8]
    let bad: Range<Int64>

    func size() -> Int64 { Int64(bytes.count) }
    func read(at offset: Int64, count: Int) throws -> [UInt8] {
        guard !bad.overlaps(offset..<offset + Int64(count)) else { throw FileFailure("read", "a disk", code: EIO) }
        return Array(bytes[Int(offset)...].prefix(count))
    }
}

/// Transport streams that could not be closed, and that the disk has stored only in part.
@Suite struct LostStreamTests {
    enum Loss: String, CaseIterable {
        case nothing, end, pagesAtTheEnd, pagesInTheMiddle
    }

    private let directory: TemporaryDirectory
    private let told = ToldFiles()
    private let recorder: Recorder
    /// The number of frames that were written, and their size in bytes.
    private let frames: Int
    private let whole: Data
    private let open: String

    /// Records a file of three seconds that keeps its open name, as after any failed close.
    init() throws {
        let (directory, work) = (try TemporaryDirectory(), try TemporaryDirectory())
        let source = try FLVFile.generate(in: work, rate: FrameRate(25), seconds: 3)
        var configuration = RecorderConfiguration(
            directory: try .prepare(directory.path), channel: "test", length: .duration(.seconds(60)),
            observers: [told])
        configuration.format = .ts
        let recorder = Recorder(
            configuration: configuration, description: source.description, keyframes: KeyframeSpy(), logger: quiet)
        Recording(directory: directory, recorder: recorder).feed(source.packets)
        recorder.waitUntilIdle()
        let open = try #require(recorder.status.fileName)
        let name = try #require(SegmentName(fileName: open))
        let blockers = (0..<1000).map { directory.path(name.closed(attempt: $0)) }
        for path in blockers { try #require(FileManager.default.createFile(atPath: path, contents: nil)) }
        recorder.suspend("a test")
        recorder.waitUntilIdle()
        recorder.waitForCloser()
        for path in blockers { try FileManager.default.removeItem(atPath: path) }
        try #require(directory.files == [open] && recorder.status.lastError != nil)
        (self.directory, self.recorder, self.open) = (directory, recorder, open)
        frames = recorder.status.framesWritten
        whole = try Data(contentsOf: URL(fileURLWithPath: directory.path(open)))
    }

    private func damaged(_ loss: Loss) -> Data {
        var bytes = whole
        let page = whole.count / 2 / 4096 * 4096
        switch loss {
        case .nothing: break
        case .end: bytes.removeLast(whole.count - page - 100)
        case .pagesAtTheEnd: bytes.replaceSubrange(page..., with: Data(count: whole.count - page))
        case .pagesInTheMiddle: bytes.replaceSubrange(page..<page + 8192, with: Data(count: 8192))
        }
        return bytes
    }

    /// Returns the number of frames that ffprobe finds, including incomplete ones.
    private func framesFound(_ path: String) throws -> Int {
        try SegmenterTests.run(
            "ffprobe", "-v", "quiet", "-select_streams", "v", "-show_entries", "packet=size", "-of", "csv=p=0", path
        ).output.split(separator: "\n").count
    }

    // Regression: a stream whose tail the disk had lost was reported with all of its frames.
    @Test(arguments: Loss.allCases)
    func
        `If the disk lost a part of an unclosed transport stream file, that part is a gap, and the rest is a finished file`(
            _ loss: Loss
        ) throws
    {
        try damaged(loss).write(to: URL(fileURLWithPath: directory.path(open)))
        recorder.resume()
        recorder.waitUntilIdle()
        recorder.waitForCloser()
        let record = try #require(told.records.withLock { $0.first })
        #expect(directory.files == [record.fileName] && record.fileName.hasSuffix(".ts"))
        let size = try FileManager.default.attributesOfItem(atPath: directory.path(record.fileName))[.size] as? Int64
        #expect(record.bytes == size && record.bytes % 188 == 0)
        let found = try framesFound(directory.path(record.fileName))
        #expect(loss == .nothing ? record.frames == found : (found - 3...found).contains(record.frames))
        let gaps = told.gaps.withLock { $0 }
        #expect(gaps.map(\.frames) == (loss == .nothing ? [] : [frames - record.frames]))
        #expect(gaps.allSatisfy { $0.frames > 0 && $0.from == record.programEnd })
        #expect(recorder.status.gaps.map(\.frames) == gaps.map(\.frames))
        Recording(directory: directory, recorder: recorder).finish()
    }

    // Regression: one bad sector left a whole stream open for ever.
    @Test
    func `Unreadable parts of a transport stream file count as missing, and the parts after them are kept`() throws {
        let block = 4096 * 188
        var bytes = [UInt8](whole)
        while bytes.count < 4 * block { bytes += [UInt8](whole) }
        let (size, sector) = (Int64(bytes.count), Int64(block) + 8192)
        let intact = try TransportStreamFile.content(
            of: BadSector(bytes: bytes, bad: 0..<0), in: 0..<size, isWhole: true)
        #expect(intact.missingBytes == 0 && intact.frames == bytes.count / whole.count * frames)
        let file = BadSector(bytes: bytes, bad: sector..<sector + 512)
        #expect(try TransportStreamFile.end(of: file, size: size) == size)
        let content = try TransportStreamFile.content(of: file, in: 0..<size, isWhole: true)
        #expect(content.missingBytes == Int64(block))
        #expect(content.frames > intact.frames / 2 && content.frames < intact.frames)
        // If the end itself cannot be read, nothing is cut off.
        let atEnd = BadSector(bytes: bytes, bad: size - 512..<size)
        #expect(try TransportStreamFile.end(of: atEnd, size: size) == size)
    }

    // Regression: after a repair by another process all frames counted as kept.
    @Test(arguments: Loss.allCases)
    func `If another process completed a transport stream, the file's missing part is a gap, too`(_ loss: Loss) throws {
        try damaged(loss).write(to: URL(fileURLWithPath: directory.path(open)))
        let outcomes = SegmentRecovery.run(in: try .prepare(directory.path), open: [open]).map(\.outcome)
        if case .completed(_, _, let dropped) = outcomes.first {
            #expect(loss == .pagesInTheMiddle && abs(dropped - 8192) <= 188)
        } else {
            #expect(loss != .pagesInTheMiddle)
        }
        recorder.resume()
        recorder.waitUntilIdle()
        recorder.waitForCloser()
        let record = try #require(told.records.withLock { $0.first })
        #expect(told.gaps.withLock { $0.map(\.frames) } == (loss == .nothing ? [] : [frames - record.frames]))
        #expect(loss == .nothing ? record.frames == frames : record.frames < frames)
        Recording(directory: directory, recorder: recorder).finish()
    }
}
