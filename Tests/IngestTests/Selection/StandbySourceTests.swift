// SPDX-License-Identifier: Apache-2.0

import Media
import Synchronization
import TestSupport
import Testing

@testable import Ingest

@Suite("A source that is opened on demand", .timeLimit(.minutes(2)))
struct StandbySourceTests {
    /// A source that is open until the test ends it.
    private final class Source: MediaSource {
        private let state = Mutex(SourceStatus())
        private let work = Mutex<(@Sendable () -> Void)?>(nil)
        let description = SourceDescription(video: nil, hasAudio: true, isLive: true, duration: nil)

        var status: SourceStatus {
            work.withLock { $0.take() }?()
            return state.withLock { $0 }
        }

        /// Does `work` before the status is next read.
        func beforeStatus(_ work: @escaping @Sendable () -> Void) { self.work.withLock { $0 = work } }

        func start(into sink: any SourceSink, video: VideoFormat?, audio: AudioFormat?) {}
        func stop() { end(.ended) }

        func end(_ stage: SourceStatus.State, _ error: String? = nil) {
            state.withLock { ($0.state, $0.lastError) = (stage, error) }
        }
    }

    /// Openings whose results the test chooses.
    private final class Openings: Sendable {
        private struct State {
            var error: IngestError?
            var made: [Source] = []
            var wanted: [Bool] = []
            var isBlocked = false
        }

        private let state = Mutex(State())

        /// The error of the next openings; nil lets them succeed.
        var error: IngestError? {
            get { state.withLock { $0.error } }
            set { state.withLock { $0.error = newValue } }
        }
        /// While this is true, openings block until they are no longer wanted, or until this is false again.
        var isBlocked: Bool {
            get { state.withLock { $0.isBlocked } }
            set { state.withLock { $0.isBlocked = newValue } }
        }
        var made: [Source] { state.withLock { $0.made } }
        /// Whether the source was still wanted when its openings ended.
        var wanted: [Bool] { state.withLock { $0.wanted } }

        func open(_ isWanted: () -> Bool) throws -> StandbySource.Running {
            try eventually("the opening may end") { !isBlocked || !isWanted() }
            let isStillWanted = isWanted()
            let result: Result<Source, IngestError> = state.withLock { state in
                state.wanted.append(isStillWanted)
                if let error = state.error { return .failure(error) }
                let source = Source()
                source.end(.running)
                state.made.append(source)
                return .success(source)
            }
            return StandbySource.Running(try result.get())
        }
    }

    private let openings = Openings()

    private func makeSource() -> StandbySource {
        StandbySource(name: "cam", logger: quiet) { [openings] _, isWanted in try openings.open(isWanted) }
    }

    @Test("If opening a source fails, the error is counted and reported, and opening is tried until it succeeds")
    func failures() throws {
        let source = makeSource()
        defer { source.stop() }
        let error = IngestError.cannotBeOpened(input: "cam", reason: "it is away")
        openings.error = error
        #expect(source.report.failures == 0 && source.report.error == nil)
        source.start()
        try eventually("opening fails") { source.report.failures == 1 }
        let report = source.report
        #expect(report.error as? IngestError == error && report.status.lastError == error.description)
        #expect(report.status.state == .waiting && !report.isOver)
        openings.error = nil
        try eventually("the source is open") { source.report.status.state == .running }
        #expect(openings.made.count == 1 && source.report.failures > 0)
    }

    @Test("A source that fails after it was open is reopened; this does not count as an error of opening")
    func reopened() throws {
        let source = makeSource()
        defer { source.stop() }
        source.start()
        try eventually("the source is open") { openings.made.count == 1 && source.report.status.state == .running }
        openings.made[0].end(.failed, "The sender is gone.")
        try eventually("the failure is reported") { source.report.failures == 1 }
        #expect(source.report.error == nil && openings.made[0].status.state == .ended)
        try eventually("the source is open again") { openings.made.count == 2 && source.report.failures == 1 }
    }

    @Test("A file that was played to its end is opened again only after it was closed and requested again")
    func over() throws {
        let source = makeSource()
        defer { source.stop() }
        source.start()
        try eventually("the source is open") { openings.made.count == 1 && source.report.status.state == .running }
        openings.made[0].end(.ended)
        try eventually("the file is over") { source.report.isOver }
        source.start()
        #expect(source.report.isOver && openings.made.count == 1)
        source.stop()
        #expect(!source.report.isOver && source.report.failures == 0)
        source.start()
        try eventually("the file is open again") { openings.made.count == 2 }
    }

    @Test("If a source is closed and reopened just as it ends, that end does not affect the new opening")
    func lateEnd() throws {
        let source = makeSource()
        defer { source.stop() }
        source.start()
        try eventually("the source is open") { openings.made.count == 1 && source.report.status.state == .running }
        // The source is closed and wanted again just before its thread reads the status, which says that the source has
        // ended.
        openings.made[0].beforeStatus {
            source.stop()
            source.start()
        }
        try eventually("the source is open again") { openings.made.count == 2 }
        try eventually("the source runs") { source.report.status.state == .running }
        #expect(!source.report.isOver && source.report.failures == 0 && openings.made[0].status.state == .ended)
    }

    @Test("A source that is closed while it is being opened is notified, and is stopped once it has opened")
    func closedWhileOpening() throws {
        let source = makeSource()
        openings.isBlocked = true
        source.start()
        source.stop()
        source.start()
        openings.isBlocked = false
        defer { source.stop() }
        try eventually("the source is open") { source.report.status.state == .running }
        // The first opening may not have begun before the source was closed.
        let wanted = openings.wanted
        #expect(wanted.last == true && wanted.dropLast().allSatisfy { !$0 })
        #expect(openings.made.dropLast().allSatisfy { $0.status.state == .ended })
    }

    @Test("After random starts and stops a source is in the state last requested, with one opening at a time")
    func walk() throws {
        var random = SeededRandom()
        let source = makeSource()
        for _ in 0..<30 {
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                if Bool.random(using: &random) { source.start() } else { source.stop() }
            }
            let isWanted = Bool.random(using: &random)
            if isWanted { source.start() } else { source.stop() }
            try eventually("the source is \(isWanted ? "open" : "closed")") {
                let open = openings.made.count { $0.status.state == .running }
                return open == (isWanted ? 1 : 0) && (source.report.status.state == .running) == isWanted
            }
            #expect(source.report.failures == 0)
        }
        source.stop()
    }
}
