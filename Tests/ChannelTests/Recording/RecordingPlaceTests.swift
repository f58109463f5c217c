// SPDX-License-Identifier: Apache-2.0

import Archive
import Catalogue
import Dispatch
import Logging
import Media
import RecordingSamples
import Segmenter
import TestSupport
import Testing
import Upload

@testable import Channel

@Suite("The place of a recording")
struct RecordingPlaceTests {
    private let parent: TemporaryDirectory
    private let log = CollectedLog(from: .notice)

    init() throws { parent = try TemporaryDirectory() }

    private func recording(_ name: String, upload: UploadTarget? = nil) -> ChannelConfiguration.Recording {
        ChannelConfiguration.Recording(
            directory: parent.path(name), mount: .ignored, length: .duration(.seconds(60)), expected: .seconds(60),
            warning: .seconds(60), upload: upload)
    }

    private func place(_ recording: ChannelConfiguration.Recording) throws(ChannelFailure) -> RecordingPlace {
        try RecordingPlace(recording, channel: "test", logger: log.logger)
    }

    @Test("The directory of a new recording is created; a file at its path is an error that names it")
    func prepared() throws {
        #expect(try place(recording("new")).directory.path == parent.path("new"))
        #expect(parent.files == ["new"])
        try parent.write("a file".utf8, to: "file")
        let failure = #expect(throws: ChannelFailure.self) { try place(recording("file")) }
        #expect(failure?.cause == .cannotRecord && failure?.attempt == .record(parent.path("file")))
        #expect(failure?.description.contains("Name a directory that this user may write to.") == true)
    }

    @Test("The place of existing recordings is not created if it is missing")
    func existing() throws {
        #expect(throws: FileFailure.self) {
            try RecordingPlace(existing: recording("away"), channel: "test", logger: quiet)
        }
        #expect(parent.all.isEmpty)
        _ = try place(recording("here"))
        let existing = try RecordingPlace(existing: recording("here"), channel: "test", logger: quiet)
        #expect(existing.directory.path == parent.path("here"))
    }

    @Test("A second directory that is the first one, or in it or around it, is refused; others are not")
    func collision() throws {
        for (second, isRefused) in [("first", true), ("first/in", true), ("", true), ("second", false)] {
            var recording = recording(second)
            recording.beside = parent.path("first")
            let failure = Result { () throws(ChannelFailure) in try place(recording) }.failure
            #expect((failure != nil) == isRefused, "\(second)")
            #expect(failure.map { $0.cause == .cannotRecord } ?? true)
        }
    }

    @Test("Files wait for the catalogue and, if they are uploaded, for the uploader, which learns of them second")
    func watched() throws {
        let plain = try place(recording("plain"))
        #expect(plain.observers.count == 1 && plain.vetoes.count == 3 && plain.uploadStatus == nil)
        #expect(!plain.perform(.retryAll))
        let uploaded = try place(recording("uploaded", upload: .command("/bin/true")))
        #expect(uploaded.observers.count == 2 && uploaded.vetoes.count == 4 && uploaded.uploadStatus != nil)
        #expect(uploaded.observers.first is Catalogue)
        #expect(uploaded.perform(.retryAll))
    }

    @Test("A recording's start is over only when the files that a crash left open are completed and logged")
    func recovers() throws {
        let place = try place(recording("crashed"))
        let sample = SampleRecording()
        try parent.write(sample.open, to: "crashed/" + SampleRecording.name + SegmentName.openMark)
        let empty = "crashed/test_20261121T150310.123Z_000002.mp4" + SegmentName.openMark
        try parent.write(sample.open.prefix(sample.fragments[0]), to: empty)
        try parent.write(sample.open, to: "crashed/other_20261121T150310.123Z_000002.mp4" + SegmentName.openMark)
        let group = DispatchGroup()
        place.start(in: group)
        try eventually("the files are completed") { group.wait(timeout: .now()) == .success }
        let facts = try SegmentReader.read(parent.path("crashed/" + SampleRecording.name))
        #expect(facts.frames == 100 && facts.position?.ending == .recovered)
        #expect(log.lines(containing: "completed \(SampleRecording.name), left open by a crash").count == 1)
        #expect(log.lines(containing: "_000002") == log.lines(containing: "which cannot be played"))
        #expect(log.lines(containing: "which cannot be played").count == 1)
        let isOver = DispatchSemaphore(value: 0)
        place.finish { isOver.signal() }
        try eventually("the place is finished") { isOver.wait(timeout: .now()) == .success }
        // The catalogue has the completed file once the place is finished.
        let ledger = ChannelLedger(directory: place.directory, channel: "test")
        #expect(try ledger.segment(SampleRecording.name)?.deleted == nil)
        #expect(try ledger.segment(SampleRecording.name) != nil)
    }
}

extension Result {
    /// The error; nil for a success.
    fileprivate var failure: Failure? { if case .failure(let failure) = self { failure } else { nil } }
}
