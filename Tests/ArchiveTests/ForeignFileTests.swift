// SPDX-License-Identifier: Apache-2.0

import Foundation
import RecordingSamples
import TestSupport
import Testing

@testable import Archive
@testable import MP4

@Suite struct ForeignFileTests {
    private let temporary: TemporaryDirectory
    private let directory: RecordDirectory

    init() throws {
        temporary = try TemporaryDirectory()
        directory = try .prepare(temporary.path)
    }

    /// The first bytes of an MP4 from ffmpeg.
    private let fileType: [UInt8] =
        [0, 0, 0, 32] + Array("ftypisom".utf8) + [0, 0, 2, 0] + Array("isomiso2avc1mp41".utf8)

    // Regression: at the start and at each retry, recovery set aside or truncated any file that had the name of an open
    // recording.
    @Test(arguments: ["mp4", "ts"])
    func `Recovery does not change a foreign file with the name of an open recording`(fileExtension: String) throws {
        let name = SampleRecording.name.replacingOccurrences(of: "mp4", with: fileExtension) + ".part"
        let other = fileType + [UInt8](repeating: 0x47, count: 5000)
        let packet = [UInt8](repeating: 0x47, count: 188)
        let stream = Array(repeatElement(packet, count: 20).joined()) + [1, 2, 3]
        let content = fileExtension == "ts" ? stream : other
        try temporary.write(content, to: name)
        #expect(try SegmentRecovery.run(in: directory, channel: "test").isEmpty)
        #expect(SegmentRecovery.run(in: directory, open: [name]).isEmpty)
        #expect(temporary.files == [name])
        #expect(try temporary.bytes(name) == content)
    }

    @Test func `Recovery sets aside an open file that a crash left empty or full of zeros`() throws {
        for content in [[], [UInt8](repeating: 0, count: 4096)] {
            let part = SampleRecording.name + ".part"
            try temporary.write(content, to: part)
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSinceNow: -6)], ofItemAtPath: temporary.path(part))
            guard case .setAside(let name, _) = try SegmentRecovery.run(in: directory, channel: "test").first?.outcome
            else {
                Issue.record("\(temporary.files)")
                continue
            }
            try FileManager.default.removeItem(atPath: temporary.path(name))
        }
    }

    /// Makes a finished file with the name of a recording, and deletes it.
    private func delete(_ content: [UInt8], _ fileName: String = SampleRecording.name) throws -> Bool {
        try temporary.write(content, to: fileName)
        let segment = try #require(directory.segments(of: "test").first { $0.fileName == fileName })
        return try directory.delete(segment, of: "test")
    }

    // Regression: before deleting a file, retention checked only two boxes, which a large file of ffmpeg also has.
    @Test func `A file of more than 4 GiB that ffmpeg wrote under a recording's name is not deleted`() throws {
        let remux = fileType + [0, 0, 0, 1] + Array("mdat".utf8) + [0, 0, 0, 1, 0x40, 0, 0, 0]
        let failure = #expect(throws: FileFailure.self) { try delete(remux) }
        #expect(failure?.description.contains("this program did not make it") == true)
        #expect(try temporary.bytes(SampleRecording.name) == remux)
    }

    @Test
    func `An open or closed file with relay's tags can be deleted, and a file without these tags cannot`() throws {
        let sample = SampleRecording()
        #expect(try delete(sample.closed))
        #expect(try delete(sample.open))
        let bare = MovieBox.openHead + [UInt8](repeating: 9, count: 900)
        #expect(throws: FileFailure.self) { try delete(bare) }
    }

    @Test func `A held recording is not deleted, and can be deleted after its hold has ended`() throws {
        try HoldMark.set(of: SampleRecording.name, in: directory)
        #expect(try !delete(SampleRecording().closed))
        #expect(temporary.files == [SampleRecording.name])
        try HoldMark.remove(of: SampleRecording.name, in: directory)
        #expect(try delete(SampleRecording().closed))
    }
}
