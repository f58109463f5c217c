// SPDX-License-Identifier: Apache-2.0

import Archive
import Foundation
import Segmenter
import TestSupport
import Testing

@testable import Library

@Suite("Exports after a restart of the process")
struct ExportJobsTests {
    private let place: TemporaryDirectory
    private let exports: ExportPlace
    private let archive: ChannelArchive

    init() throws {
        place = try TemporaryDirectory()
        exports = ExportPlace(directory: try .prepare(place.path))
        archive = ChannelArchive(place.path, channel: "main")
    }

    private var jobs: ExportJobs {
        let jobs = ExportJobs()
        jobs.restore(from: archive)
        jobs.waitUntilIdle()
        return jobs
    }

    /// Writes the files that an earlier process leaves after it has made the clip `id`.
    private func leave(_ id: String, channel: String = "main", daysAgo days: Int64 = 0, hasFile: Bool = true) throws {
        try exports.prepare(known: [])
        var job = ExportJob(id: id, channel: channel, from: "a", to: "b", name: "Goal \(id)", isExact: true)
        (job.state, job.bytes) = (.done, 3)
        let ended = UTCTime.now.milliseconds - days * 86_400_000
        try exports.write(ExportPlace.Note(job: job, from: 1000, to: 2000, ended: ended))
        if hasFile { try Data("abc".utf8).write(to: URL(fileURLWithPath: exports.path(of: id))) }
    }

    @Test("After a restart of the process earlier exports are listed and delivered until they are removed")
    func restored() throws {
        try leave("f1", daysAgo: 2)
        try leave("f2", daysAgo: 1)
        try leave("other", channel: "second")
        try leave("lost", hasFile: false)
        let jobs = jobs
        #expect(jobs.jobs.map(\.id) == ["f1", "f2"])
        let file = try jobs.file("f1")
        #expect(file.name == "Goal f1.mp4" && file.size == 3)
        // The file of f1 is older than the age at which unfinished files of earlier runs are removed.
        try exports.prepare(known: Set(jobs.jobs.map(\.id)))
        try jobs.remove("f2")
        #expect(self.jobs.jobs.map(\.id) == ["f1"])
        #expect(!FileManager.default.fileExists(atPath: exports.path(of: "f2")))
    }

    @Test("An export's stored record with impossible times is ignored")
    func damaged() throws {
        try leave("f1")
        try leave("late", daysAgo: -200_000)
        try leave("early", daysAgo: 30_000)
        #expect(jobs.jobs.map(\.id) == ["f1"])
    }

    @Test("At most the newest 20 exports are kept, and none for more than a week")
    func kept() throws {
        try leave("old", daysAgo: 8)
        for number in 0..<22 { try leave("f\(number)", daysAgo: number < 2 ? 3 : 1) }
        #expect(Set(jobs.jobs.map(\.id)) == Set((2..<22).map { "f\($0)" }))
        #expect(!FileManager.default.fileExists(atPath: exports.path(of: "old")))
    }
}
