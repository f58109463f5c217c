// SPDX-License-Identifier: Apache-2.0

import Archive
import Dispatch
import Encoder
import Foundation
import Logging
import Media
import Segmenter
import Status
import Synchronization
import TestSupport
import Testing
import Upload

@testable import Channel

@Suite("A recording in a second directory")
struct SecondRecordingTests {
    /// A channel that runs on a thread of its own until it is ended.
    private final class Running: Sendable {
        let channel: Channel
        private let result = Mutex<ChannelEnd?>(nil)
        private let ended = DispatchSemaphore(value: 0)

        init(
            _ configuration: ChannelConfiguration, resources: HostResources = HostResources(), logger: Logger = quiet
        ) throws {
            channel = try Channel(configuration, resources: resources, logger: logger)
            Thread.detachNewThread { [self] in
                let end = channel.run()
                result.withLock { $0 = end }
                ended.signal()
            }
        }

        /// Ends the channel, and returns how it ended.
        func end() -> ChannelEnd? {
            channel.end()
            ended.wait()
            return result.withLock { $0 }
        }

        /// The status of the recorder in the directory `first` or `second`.
        func recorder(_ name: String) -> RecorderStatus? {
            let status = channel.status
            return name == "first" ? status.recorder : status.secondRecording?.recorder
        }

        /// The number of frames in the directory `first` or `second`.
        func frames(_ name: String) -> Int { recorder(name)?.framesWritten ?? 0 }

        /// Waits until the recorders in both directories have written frames.
        func recordsBoth() throws {
            try eventually("both directories are recorded to") { frames("first") > 0 && frames("second") > 0 }
        }
    }

    private let place: TemporaryDirectory

    init() throws { place = try TemporaryDirectory() }

    /// A recording to the directory `first` and the directory `second`.
    private func recording(second: String? = "second") -> ChannelConfiguration.Recording {
        var recording = ChannelConfiguration.Recording(
            directory: place.path("first"), mount: .ignored, length: .duration(.seconds(1)), expected: .seconds(1),
            warning: .seconds(1), reserve: ByteSize(bytes: 100_000))
        recording.also = second.map { place.path($0) }
        return recording
    }

    /// A program of the test signal.
    private func configuration(_ recording: ChannelConfiguration.Recording?) -> ChannelConfiguration {
        var configuration = ChannelConfiguration()
        (configuration.size, configuration.frameRate) = (FrameSize(width: 320, height: 180), FrameRate(25))
        configuration.encoder.preset = .ultrafast
        configuration.recording = recording
        return configuration
    }

    /// The facts of the closed files in the directory `name`, in order.
    private func facts(_ name: String) throws -> [SegmentFacts] {
        let names = try FileManager.default.contentsOfDirectory(atPath: place.path(name))
        return try names.filter { $0.hasSuffix(".mp4") }.sorted().map {
            try SegmentReader.read("\(place.path(name))/\($0)")
        }
    }

    private func other(_ name: String) -> String { name == "first" ? "second" : "first" }

    @Test("Two directories get the same frames and audio, in files that begin at the same times")
    func same() throws {
        var configuration = configuration(recording())
        (configuration.isPaced, configuration.encoder.isLive) = (false, false)
        configuration.duration = .seconds(3)
        let channel = try Channel(configuration, logger: quiet)
        #expect(channel.run() == .done)
        let (first, second) = (try facts("first"), try facts("second"))
        #expect(first.count > 1 && first.reduce(0) { $0 + $1.frames } == 75)
        #expect(first.map { $0.position?.programStart } == second.map { $0.position?.programStart })
        #expect(first.map(\.frames) == second.map(\.frames))
        #expect(first.map(\.audio) == second.map(\.audio))
        #expect(first.first?.position?.run != second.first?.position?.run)
        let status = channel.status
        #expect(status.secondRecording?.directory == place.path("second"))
        #expect(status.recorder?.state == .stopped && status.secondRecording?.recorder?.state == .stopped)
    }

    /// Takes the ten seconds after which a recording is retried.
    @Test(
        "A directory that cannot be used does not keep a channel off air, and is recorded to as soon as it can be used",
        arguments: ["first", "second"])
    func unusable(name: String) throws {
        // There is a file where the directory should be.
        try place.write([UInt8](), to: name)
        let log = CollectedLog()
        let running = try Running(configuration(recording()), logger: log.logger)
        try eventually("the other directory is recorded to") { running.frames(other(name)) > 0 }
        #expect(running.recorder(name)?.state == .failed)
        #expect(running.recorder(name)?.lastError?.contains(place.path(name)) == true)
        let sentences = log.lines(containing: "which is tried again")
        #expect(sentences.count == 1 && sentences.allSatisfy { $0.contains(place.path(name)) })
        #expect(sentences == log.lines(containing: "which is tried again", at: name == "first" ? .error : .warning))
        try FileManager.default.removeItem(atPath: place.path(name))
        try eventually("this directory is recorded to, too") { running.frames(name) > 0 }
        #expect(running.recorder(other(name))?.gapCount == 0)
        #expect(running.end() == .done)
        let (late, whole) = (try facts(name), try facts(other(name)))
        #expect(whole.first?.position?.programStart == 0)
        #expect((late.first?.position?.programStart ?? 0) > 0 && late.allSatisfy(\.isClosed))
    }

    @Test(
        "If one directory is lost, the other recording has no gap, and both continue when the directory is back",
        arguments: ["first", "second"])
    func lost(name: String) throws {
        let running = try Running(configuration(recording()))
        try running.recordsBoth()
        try FileManager.default.moveItem(atPath: place.path(name), toPath: place.path("away"))
        try eventually("recording stops there") {
            [.suspended, .failed].contains(running.recorder(name)?.state)
        }
        let before = running.frames(other(name))
        try eventually("the other recording continues") { running.frames(other(name)) > before + 30 }
        try FileManager.default.moveItem(atPath: place.path("away"), toPath: place.path(name))
        let recorded = running.frames(name)
        try eventually("recording resumes") { running.frames(name) > recorded }
        #expect(running.recorder(other(name))?.gapCount == 0)
        #expect(running.end() == .done)
        let whole = try facts(other(name))
        let times = whole.compactMap { $0.position?.programStart }
        #expect(times.first == 0 && times.count == whole.count)
        for (file, next) in zip(whole, times.dropFirst()) {
            #expect((file.position?.programStart ?? 0) + .nanoseconds(file.duration) == next)
        }
        #expect(running.recorder(name)?.gapCount ?? 0 > 0)
    }

    @Test("A stop ends the recordings in both directories, and a start begins both again")
    func stopAndStart() throws {
        let recording = recording()
        let running = try Running(configuration(recording))
        try running.recordsBoth()
        try running.channel.stopRecording()
        #expect(throws: RecordingSlotError.notRecording) { try running.channel.stopRecording() }
        try eventually("both files are closed") { try facts("first").count > 0 && facts("second").count > 0 }
        #expect(running.channel.recordings.current.isEmpty && running.channel.status.secondRecording?.storage == nil)
        try running.channel.startRecording(recording)
        #expect(throws: RecordingSlotError.alreadyRecording) { try running.channel.startRecording(recording) }
        #expect(running.channel.recordings.current.count == 2)
        try eventually("both recordings have begun again") {
            running.recorder("first")?.state == .recording && running.recorder("second")?.state == .recording
        }
        #expect(running.end() == .done)
        for name in ["first", "second"] {
            let runs = Set(try facts(name).map { $0.position?.run })
            #expect(runs.count == 2, "\(name)")
        }
    }

    @Test("While a second recording is being set up, a stop or a reload without a second directory prevents it")
    func changedWhileStarting() throws {
        for isStopped in [true, false] {
            let disk = HungDisk(collides: false)
            let resources = HostResources(collisions: disk.check(patience: .seconds(60)))
            let (running, recording) = (try Running(configuration(nil), resources: resources), recording())
            let started = DispatchSemaphore(value: 0)
            Thread.detachNewThread {
                try? running.channel.startRecording(recording)
                started.signal()
            }
            try eventually("the second recording is being set up") { disk.questions > 0 }
            #expect(running.channel.recordings.first.current != nil)
            if isStopped {
                try running.channel.stopRecording()
            } else {
                _ = try running.channel.replaceRecording(self.recording(second: nil), keepsFirst: true)
            }
            disk.answer()
            started.wait()
            #expect(running.channel.recordings.second.current == nil && !running.channel.recordings.second.isBusy)
            #expect((running.channel.recordings.first.current == nil) == isStopped)
            _ = running.end()
        }
    }

    @Test("A start on air records to the directory that can be used, and fails only if neither can be used")
    func startWithout() throws {
        for name in ["first", "second"] { try place.write([UInt8](), to: name) }
        let (running, recording) = (try Running(configuration(nil)), recording())
        let failure = #expect(throws: ChannelFailure.self) { try running.channel.startRecording(recording) }
        #expect(failure?.cause == .cannotRecord)
        #expect(throws: RecordingSlotError.notRecording) { try running.channel.stopRecording() }
        try FileManager.default.removeItem(atPath: place.path("second"))
        try running.channel.startRecording(recording)
        try eventually("the second directory is recorded to") { running.frames("second") > 0 }
        #expect(running.recorder("first")?.state == .failed)
        // A second attempt starts what is missing, and leaves the other recording alone.
        try FileManager.default.removeItem(atPath: place.path("first"))
        let second = running.channel.recordings.second.current
        try running.channel.startRecording(recording)
        try eventually("the first directory is recorded to") { running.frames("first") > 0 }
        #expect(second != nil && running.channel.recordings.second.current === second)
        #expect(running.end() == .done)
    }

    @Test("If a disk does not answer whether the two directories are the same, both directories are recorded to")
    func noAnswer() throws {
        let disk = HungDisk(collides: false)
        defer { disk.answer() }
        let resources = HostResources(collisions: disk.check(patience: .milliseconds(100)))
        let running = try Running(configuration(recording()), resources: resources)
        try running.recordsBoth()
        #expect(running.recorder("second")?.lastError == nil)
        #expect(running.end() == .done)
    }

    /// Takes the ten seconds after which a recording is retried.
    @Test("A channel that has ended is released although a disk hangs on which its recording is retried")
    func released() throws {
        try place.write([UInt8](), to: "second")
        let disk = HungDisk(collides: false)
        // Only the first attempt gets an answer.
        disk.answer()
        defer { disk.answer() }
        weak var channel: Channel?
        do {
            let resources = HostResources(collisions: disk.check(patience: .seconds(3600)))
            let running = try Running(configuration(recording()), resources: resources)
            channel = running.channel
            try eventually("the second recording is retried") { disk.questions == 2 }
            #expect(running.end() == .done)
        }
        try eventually("the channel is released") { channel == nil }
    }

    @Test("A channel is not opened if neither directory can be used")
    func neither() throws {
        for name in ["first", "second"] { try place.write([UInt8](), to: name) }
        let failure = #expect(throws: ChannelFailure.self) { try Channel(configuration(recording()), logger: quiet) }
        #expect(failure?.cause == .cannotRecord && failure?.description.contains(place.path("first")) == true)
    }

    @Test("Nothing is written to a second directory that is in the first or contains it", arguments: ["first/b", "."])
    func nested(second: String) throws {
        let running = try Running(configuration(recording(second: second)))
        try eventually("the first directory is recorded to") { running.frames("first") > 0 }
        #expect(running.recorder("second")?.lastError?.contains("the same directory, or one is in the other") == true)
        #expect(running.end() == .done)
        #expect(place.all == ["first"])
        #expect(!FileManager.default.fileExists(atPath: place.path("first/b")))
    }

    @Test("Another second directory replaces the earlier one on air, and the first recording continues in its file")
    func replaced() throws {
        let running = try Running(configuration(recording()))
        try running.recordsBoth()
        let recordings = running.channel.recordings
        let (first, second) = (recordings.first.current, recordings.second.current)
        #expect(try running.channel.replaceRecording(recording(second: "third"), keepsFirst: true))
        #expect(recordings.first.current === first && recordings.second.current !== second)
        #expect(running.channel.status.secondRecording?.directory == place.path("third"))
        try eventually("the third directory is recorded to") { running.frames("second") > 0 }
        #expect(try running.channel.replaceRecording(recording(second: nil), keepsFirst: true))
        #expect(recordings.first.current === first && recordings.second.current == nil)
        #expect(running.channel.status.secondRecording == nil)
        #expect(running.end() == .done)
        #expect(try facts("second").allSatisfy(\.isClosed) && facts("third").allSatisfy(\.isClosed))
        let runs = Set(try facts("first").map { $0.position?.run })
        #expect(runs.count == 1)
    }

    // The end of the channel depends on the disk of such a directory, which can hang.
    @Test("Work that is left in a second directory is known after the directory was replaced or removed on air")
    func leftWork() throws {
        var recording = recording()
        try place.write("#!/bin/sh\nexec sleep 500\n".utf8, to: "hook")
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: place.path("hook"))
        recording.upload = .command(place.path("hook"))
        let running = try Running(configuration(recording))
        try running.recordsBoth()
        let recordings = running.channel.recordings
        #expect(recordings.second.endingDirectories.isEmpty)
        var without = recording
        without.also = nil
        #expect(try running.channel.replaceRecording(without, keepsFirst: true))
        // The upload of the file there does not end.
        #expect(recordings.secondDirectories == [place.path("second")])
        #expect(running.end() == .done)
    }

    @Test("If the first recording cannot be replaced on air, the second recording is replaced nevertheless")
    func replacedAlone() throws {
        let running = try Running(configuration(recording()))
        try running.recordsBoth()
        let recordings = running.channel.recordings
        let (first, second) = (recordings.first.current, recordings.second.current)
        try place.write([UInt8](), to: "blocked")
        var next = recording(second: "third")
        next.directory = place.path("blocked")
        let failure = #expect(throws: ChannelFailure.self) { try running.channel.replaceRecording(next) }
        #expect(failure?.cause == .cannotRecord)
        #expect(recordings.first.current === first && recordings.second.current !== second)
        try eventually("the third directory is recorded to") { running.frames("second") > 0 }
        #expect(running.end() == .done)
        #expect(try facts("third").allSatisfy(\.isClosed))
    }

    /// Takes the twelve seconds that the outputs have to send their remaining packets.
    @Test("A channel that is opened again after a failure does not wait for recordings that cannot end")
    func openedAgain() throws {
        var recording = recording(second: nil)
        var earlier = configuration(recording)
        (earlier.isPaced, earlier.encoder.isLive, earlier.duration) = (false, false, .seconds(1))
        #expect(try Channel(earlier, logger: quiet).run() == .done)
        // The upload of the file of the earlier run does not end.
        let (hook, begun) = (place.path("hook"), place.path("begun"))
        try place.write("#!/bin/sh\n: > '\(begun)'\nexec sleep 500\n".utf8, to: "hook")
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: hook)
        recording.upload = .command(hook)
        let log = CollectedLog()
        let channel = try Channel(configuration(recording), logger: log.logger)
        channel.recordings.begin()
        try eventually("the upload has begun") { FileManager.default.fileExists(atPath: begun) }
        channel.endConsumers(isProgramOver: false, isOpenedAgain: true)
        #expect(log.lines(containing: "the channel does not wait for its recordings").count == 1)
        channel.end()
    }

    @Test("Media that waits for the disk of one directory takes no memory from the recording in the other one")
    func memory() throws {
        let running = try Running(configuration(nil))
        let second = try #require(recording().second)
        let queues = try [recording(), second].map { try running.channel.recorded($0).queues }
        #expect(queues[0] !== queues[1])
        _ = running.end()
    }

    @Test("Log lines of each of two recordings name its directory, and those of a single recording do not")
    func logs() throws {
        for (second, count) in [("second", 2), (nil, 0)] as [(String?, Int)] {
            let log = CollectedLog(from: .info)
            let running = try Running(configuration(recording(second: second)), logger: log.logger)
            try eventually("something is recorded") { running.frames("first") > 0 }
            if second != nil { try running.recordsBoth() }
            #expect(running.end() == .done)
            let named = ["first", "second"].filter { name in
                !log.lines(containing: "segment opened directory=\(place.path(name)) ").isEmpty
            }
            #expect(named.count == count)
        }
    }

    @Test("The settings of the second recording are those of the first, without sources and without a replay buffer")
    func settings() throws {
        var recording = recording()
        (recording.sources, recording.replay, recording.upload) = (["cam"], .seconds(10), .command("/bin/true"))
        let second = try #require(recording.second)
        #expect(second.directory == place.path("second") && second.beside == place.path("first"))
        #expect(second.also == nil && second.second == nil && second.sources.isEmpty && second.replay == nil)
        #expect(second.upload == .command("/bin/true") && second.length == recording.length)
        #expect(self.recording(second: nil).second == nil)
    }

    @Test("The two directories collide if a symbolic link or .. leads from one to the other, or into it")
    func collision() throws {
        try FileManager.default.createDirectory(atPath: place.path("first"), withIntermediateDirectories: false)
        try FileManager.default.createSymbolicLink(
            atPath: place.path("link"), withDestinationPath: place.path("first"))
        for second in ["first", "first/", "link", "link/deeper", "first/deeper", "other/../first", "."] {
            #expect(recording(second: second).collision != nil, "\(second)")
        }
        for second in ["second", "first2", "first/../second"] {
            #expect(recording(second: second).collision == nil, "\(second)")
        }
        #expect(recording(second: nil).collision == nil)
    }
}
