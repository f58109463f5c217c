// SPDX-License-Identifier: Apache-2.0

import Archive
import Dispatch
import Foundation
import Media
import RecordingSamples
import TestSupport
import Testing

@testable import Library

@Suite("The queue of exports")
struct ExportQueueTests {
    private let place: TemporaryDirectory
    private let archive: ChannelArchive
    private let jobs = ExportJobs()
    private let gate = DispatchSemaphore(value: 0)

    init() throws {
        place = try TemporaryDirectory()
        archive = ChannelArchive(place.path, channel: "test")
        try place.write(SampleRecording(seconds: 4).closed, to: SampleRecording.name)
    }

    /// A request for the range from `from` to `to`, in milliseconds of the recording.
    private func request(_ from: Int64 = 1000, _ to: Int64 = 3000, name: String? = nil) -> ExportRequest {
        let start = SampleRecording.start.milliseconds
        return ExportRequest(channel: "test", range: start + from..<start + to, name: name, isExact: nil)
    }

    /// A request whose clip is not on the disk. The job learns that only when ``gate`` is signalled.
    private var waiting: ExportRequest {
        var request = request()
        request.clip = ClipExport(
            run: "a1", times: 0..<1_000_000_000, frameDuration: .milliseconds(40),
            isRecorded: { [gate] in
                gate.wait()
                return false
            }, finished: { _ in })
        return request
    }

    private func start(_ request: ExportRequest) throws -> String {
        try jobs.start(request, in: archive, reserve: 0).id
    }

    /// The names of the files in the directory of exports.
    private var exported: [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: place.path(".relay-exports"))) ?? []).sorted()
    }

    @Test("An export is made, delivered and still known after a restart of the process")
    func made() throws {
        let queued = try jobs.start(request(name: "Goal"), in: archive, reserve: 0)
        #expect(queued.channel == "test" && queued.name == "Goal" && queued.url == nil)
        jobs.waitUntilIdle()
        let job = try jobs.job(queued.id)
        #expect(job.state == .done && job.progress == 1 && job.secondsLeft == nil && job.detail == nil)
        #expect(job.copiedFrames == 50 && job.encodedFrames == 0 && job.durationSeconds == 2 && job.isExact)
        #expect(job.url == "v1/exports/\(job.id)/file")
        let file = try jobs.file(job.id)
        #expect(file.name == "Goal.mp4" && file.type == "video/mp4" && file.tag == job.id && file.size == job.bytes)
        #expect(try file.read(0, 8) == Array(place.bytes(".relay-exports/\(job.id).mp4").prefix(8)))
        #expect(try SegmentIndex.read(place.path(".relay-exports/\(job.id).mp4")).facts.frames == 50)
        // Exports are no recordings.
        #expect(try archive.list(0..<Int64.max, limit: 10).recordings.map(\.name) == [SampleRecording.name])

        let next = ExportJobs()
        next.restore(from: archive)
        next.waitUntilIdle()
        let known = try next.job(job.id)
        #expect(known.copiedFrames == 50 && known.bytes == job.bytes && known.url == job.url)
        #expect(try next.file(job.id).name == "Goal.mp4")
    }

    @Test("An export without a name is named after its channel and its time")
    func unnamed() throws {
        let id = try start(request())
        jobs.waitUntilIdle()
        #expect(try jobs.file(id).name == "test_20261121T140311.123Z.mp4")
    }

    @Test("An export of a time without recordings fails with the reason, and can be removed from the list")
    func failed() throws {
        let id = try start(request(60_000, 61_000))
        jobs.waitUntilIdle()
        let job = try jobs.job(id)
        #expect(job.state == .failed && job.url == nil && job.bytes == nil)
        #expect(job.detail?.hasPrefix("Nothing was recorded then") == true, "\(job.detail ?? "")")
        #expect(refusal { _ = try jobs.file(id) } == .conflict)
        #expect(exported.isEmpty)
        try jobs.remove(id)
        #expect(jobs.jobs.isEmpty)
        #expect(refusal { _ = try jobs.job(id) } == .notFound && refusal { try jobs.remove(id) } == .notFound)
    }

    @Test("An export is refused if the channel has no recordings")
    func nothing() throws {
        let none = ChannelArchive(place.path("none"), channel: "test")
        #expect(refusal { _ = try jobs.start(request(), in: none, reserve: 0) } == .conflict)
        #expect(jobs.jobs.isEmpty)
    }

    @Test("At most eight exports wait for the one that runs, and a cancelled one makes room for another")
    func full() throws {
        let first = try start(waiting)
        defer { gate.signal() }
        try eventually("the first export runs") { try jobs.job(first).state == .running }
        var ids = [first]
        for _ in 0..<8 { ids.append(try start(request())) }
        #expect(refusal { _ = try start(request()) } == .tooMany)
        #expect(jobs.jobs.map(\.id) == ids)
        #expect(refusal { _ = try jobs.file(ids[1]) } == .conflict)
        try jobs.remove(ids[4])
        #expect(try jobs.job(ids[4]).state == .cancelled)
        ids.append(try start(request()))
        // The running export stops when it next checks whether its clip is recorded.
        try jobs.remove(first)
        #expect(try jobs.job(first).state == .running)
        gate.signal()
        jobs.waitUntilIdle()
        let states = jobs.jobs.map(\.state)
        let expected = ids.map { id -> ExportJob.State in id == first || id == ids[4] ? .cancelled : .done }
        #expect(states == expected)
        #expect(exported.count { $0.hasSuffix(".mp4") } == 8 && exported.count { $0.hasSuffix(".json") } == 8)
        // A cancelled export that is removed once more is forgotten.
        try jobs.remove(ids[4])
        #expect(refusal { _ = try jobs.job(ids[4]) } == .notFound)
    }

    @Test("The newest five trial exports are kept in addition to other exports, and are forgotten at a restart")
    func trials() throws {
        var trial = request()
        trial.isTrial = true
        let lasting = try start(request())
        var ids: [String] = []
        for _ in 0..<7 { ids.append(try start(trial)) }
        jobs.waitUntilIdle()
        #expect(jobs.jobs.map(\.id) == [lasting] + ids.suffix(5))
        #expect(exported == ([lasting + ".json", lasting + ".mp4"] + ids.suffix(5).map { $0 + ".mp4" }).sorted())
        let next = ExportJobs()
        next.restore(from: archive)
        next.waitUntilIdle()
        #expect(next.jobs.map(\.id) == [lasting])
    }

    @Test("If the directory of exports is a symbolic link, nothing is exported")
    func link() throws {
        let other = try TemporaryDirectory()
        try FileManager.default.createSymbolicLink(
            atPath: place.path(".relay-exports"), withDestinationPath: other.path)
        let id = try start(request())
        jobs.waitUntilIdle()
        let job = try jobs.job(id)
        #expect(job.state == .failed && other.all.isEmpty)
        #expect(job.detail?.contains("symbolic link") == true && job.detail?.contains(place.path) == false)
    }

    @Test("Unfinished exports of earlier processes are deleted after a day, and no other file is deleted")
    func leftovers() throws {
        try FileManager.default.createDirectory(
            atPath: place.path(".relay-exports/old"), withIntermediateDirectories: true)
        for name in ["a.part", "b.mp4", "young.part"] { try place.write([1], to: ".relay-exports/\(name)") }
        let date = Date(timeIntervalSinceNow: -2 * 86_400)
        for name in ["a.part", "b.mp4", "old"] {
            try FileManager.default.setAttributes(
                [.modificationDate: date], ofItemAtPath: place.path(".relay-exports/\(name)"))
        }
        let id = try start(request())
        jobs.waitUntilIdle()
        #expect(exported == ["\(id).json", "\(id).mp4", "old", "young.part"].sorted())
    }
}

@Suite("Plans of exports")
struct ExportPlanningTests {
    private let place: TemporaryDirectory
    private let archive: ChannelArchive
    private let planning = ExportPlanning()

    init() throws {
        place = try TemporaryDirectory()
        archive = ChannelArchive(place.path, channel: "test")
    }

    /// A request for one clip. None of the clip's files exists.
    private func request(isRecorded: @escaping @Sendable () -> Bool = { true }) -> ExportRequest {
        var request = ExportRequest(channel: "test", range: 0..<1000, name: nil, isExact: nil)
        let clip = ClipExport(
            run: "a1", times: 0..<1_000_000_000, frameDuration: .milliseconds(40), isRecorded: isRecorded,
            finished: { _ in })
        request.stitched = [StitchedClip(clip, title: "Goal", ClipPart(id: "x"))]
        return request
    }

    @Test("A plan for clips that are not on disk yet, or were deleted, is refused with the reason")
    func refused() throws {
        #expect(refusal { _ = try planning.plan(request { false }, in: archive) } == .unavailable)
        let error = #expect(throws: Refusal.self) { try planning.plan(request(), in: archive) }
        #expect(error?.kind == .conflict)
        #expect(error.map { "\($0)".contains("Nothing of Goal is recorded any more.") } == true)
    }

    @Test("While the plan of an export is being made, another plan is refused")
    func busy() throws {
        let (entered, gate, done) = (
            DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0)
        )
        let slow = request {
            entered.signal()
            gate.wait()
            return false
        }
        Thread { [planning, archive] in
            _ = try? planning.plan(slow, in: archive)
            done.signal()
        }.start()
        entered.wait()
        #expect(refusal { _ = try planning.plan(request(), in: archive) } == .unavailable)
        gate.signal()
        done.wait()
        #expect(refusal { _ = try planning.plan(request(), in: archive) } == .conflict)
    }
}
