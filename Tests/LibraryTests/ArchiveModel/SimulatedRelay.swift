// SPDX-License-Identifier: Apache-2.0

import Archive
import Media
import Synchronization
import TestSupport

@testable import Catalogue
@testable import Library
@testable import Segmenter
@testable import Upload

/// One run of relay: the objects of a recording, connected as ``Channel`` connects them, but without timers. When a
/// method returns, all of its work is done.
final class SimulatedRelay {
    struct Settings {
        var path: String
        var channel: String
        var template: NameTemplate
        var rules: RetentionRules
        var hasUploads: Bool
        /// Whether retention asks its vetoes before it deletes a file.
        var heedsVetoes: Bool
        /// Identifies the run.
        var run: String
        /// The disk, as the storage guard sees it.
        var disk: FillableDisk
        /// Knows whether the directory was on a mounted disk.
        var memory = MountMemory()
    }

    let run: String
    let channel: String
    let directory: RecordDirectory
    let catalogue: Catalogue
    let archive: ChannelArchive
    let retention: Retention
    let recorder: Recorder
    /// Suspends and resumes the recorder.
    private let storage: StorageGuard
    private let time: SimulatedTime
    /// Reports recovered files, and the recorder's files and gaps, to all objects.
    private let line: ObserverLine
    /// The number of frames that were recorded.
    private(set) var frames: Int64 = 0

    /// Prepares the directory and makes the objects. Throws if nothing can be recorded there.
    init(_ settings: Settings, time: SimulatedTime) throws {
        let channel = settings.channel
        let directory = try RecordDirectory.prepare(
            settings.path, template: settings.template, memory: settings.memory)
        let catalogue = Catalogue(directory: directory, channel: channel, wallClock: { time.wall }, logger: quiet)
        // This uploader only answers whether files are uploaded. Each upload is made by another uploader, which then
        // ends.
        let uploader = Uploader(
            directory: directory, channel: channel, catalogue: catalogue,
            delivery: SimulatedDelivery(.none, after: 0, time: time), clock: time, logger: quiet)
        let observers: [any RecordingObserver] = settings.hasUploads ? [catalogue, uploader] : [catalogue]
        var vetoes: [any RetentionVeto] = [
            HoldVeto(directory), ClipHold(directory: directory, channel: channel), catalogue,
        ]
        if settings.hasUploads { vetoes.append(uploader) }
        if !settings.heedsVetoes { vetoes = [] }
        let retention = Retention(
            directory: directory, channel: channel, rules: settings.rules, leastFree: 40_000, vetoes: vetoes,
            observers: observers, probe: SimulatedSpace(), clock: time, wallClock: { time.wall },
            isConfirmed: { _ in time.isConfirmed },
            newestRow: { ChannelLedger(directory: directory, channel: channel).newestEnd(before: time.wall) },
            logger: quiet)
        let line = ObserverLine(observers + [retention])
        var configuration = RecorderConfiguration(
            directory: directory, channel: channel, length: .duration(.seconds(2)), observers: [line])
        configuration.run = settings.run
        configuration.sync = .never
        configuration.localOffset = { SimulatedTime.localOffset(at: $0) }
        (run, self.channel, self.directory) = (settings.run, channel, directory)
        (self.catalogue, self.time) = (catalogue, time)
        (self.retention, self.line) = (retention, line)
        archive = ChannelArchive(
            settings.path, memory: settings.memory, template: settings.template, channel: channel)
        let recorder = Recorder(
            configuration: configuration, description: SimulatedMedia.description, keyframes: DeafKeyframes(),
            clock: time, wallClock: { time.wall }, logger: quiet)
        self.recorder = recorder
        let budget = StorageBudget(
            videoBitrate: 100_000, audioBitrate: 0, duration: .seconds(60), reserve: ByteSize(bytes: 1_000_000))
        storage = StorageGuard(
            directory: directory, budget: budget, control: recorder,
            writtenBytes: { [weak recorder] in recorder?.status.totalBytes ?? 0 }, probe: settings.disk, clock: time,
            logger: quiet)
    }

    /// Asks the storage guard whether recording may begin, opens the catalogue, and completes the files that a crash
    /// left open. `recoversFirst` determines the order of the last two, because relay does both at the same time.
    func begin(recoversFirst: Bool) {
        _ = storage.admit()
        if recoversFirst { recover() }
        catalogue.start()
        catalogue.waitUntilIdle()
        if !recoversFirst { recover() }
        catalogue.waitUntilIdle()
    }

    private func recover() {
        for entry in (try? SegmentRecovery.run(in: directory, channel: channel)) ?? [] {
            switch entry.outcome {
            case .completed(let name, _, _), .renamed(let name): line.segmentRecovered(fileName: name)
            case .setAside, .inUse, .failed: break
            }
        }
    }

    /// Records a second of the program.
    func recordSecond() {
        let next = frames + SimulatedMedia.second
        recorder.accept(SimulatedMedia.packets(frames..<next))
        recorder.wake()
        frames = next
        recorder.waitUntilIdle()
        time.pass(.seconds(1))
        watch()
    }

    /// Lets the storage guard check the disk, as its timer does each second.
    func watch() {
        storage.check()
        recorder.waitUntilIdle()
    }

    /// Waits until the recorder, the closer and the catalogue are idle.
    func rest() {
        recorder.waitUntilIdle()
        recorder.waitForCloser()
        catalogue.waitUntilIdle()
    }

    /// Stops all reports about the recorder's files, as if relay were killed just before it could make them.
    func cutLine() { line.cut() }

    /// Uploads the waiting files until no file waits, relay is killed, or the remote is given up. Returns the files that
    /// arrived.
    func upload(_ fault: SimulatedDelivery.Fault, after good: Int) async -> [SimulatedDelivery.Arrival] {
        let delivery = SimulatedDelivery(fault, after: good, time: time)
        let session = Uploader(
            directory: directory, channel: channel, catalogue: catalogue, delivery: delivery,
            sleep: { [time] in time.pass($0) }, clock: time, logger: quiet)
        delivery.killing { [weak session] in session?.cancel() }
        session.start()
        await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
            session.finish { done.resume() }
        }
        catalogue.waitUntilIdle()
        return delivery.arrivals
    }

    /// The oldest file that waits for its upload; nil if none waits, or if the catalogue cannot be used.
    func nextUpload() async -> String? {
        await withCheckedContinuation { (found: CheckedContinuation<String?, Never>) in
            catalogue.uploads(besides: []) { found.resume(returning: $0?.next?.name) }
        }
    }

    /// Tries again and again to upload what waits, `name` first, while the remote does not answer for `duration`, and
    /// uploads until nothing waits when it answers again. Retention checks during each pause. Returns the files that
    /// arrived. The file `name` must exist, because the uploader pauses only after a failure.
    func upload(_ name: String, awayFor duration: Duration) async -> [SimulatedDelivery.Arrival] {
        let end = time.now + duration
        let delivery = SimulatedDelivery(.awayUntil(end), after: 0, time: time)
        let ending = Ending()
        let path = "\(directory.path)/\(name)"
        let session = Uploader(
            directory: directory, channel: channel, catalogue: catalogue, delivery: delivery,
            sleep: { [time, retention] pause in
                time.pass(pause)
                retention.check()
                let isGone = (try? FileDescriptor.open(readOnly: path)) == nil
                if time.now >= end || isGone { ending.run() }
            }, clock: time, logger: quiet)
        await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
            ending.set { session.finish { done.resume() } }
            session.start()
        }
        catalogue.waitUntilIdle()
        return delivery.arrivals
    }

    /// Ends the run in the regular way.
    func finish() async {
        await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
            recorder.finish(deadline: .distantFuture) { done.resume() }
        }
        await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
            catalogue.finish { done.resume() }
        }
    }
}

/// Work that is done once.
private final class Ending: Sendable {
    private let work = Mutex<(@Sendable () -> Void)?>(nil)

    func set(_ work: @escaping @Sendable () -> Void) { self.work.withLock { $0 = work } }

    func run() {
        let last = work.withLock { work in
            defer { work = nil }
            return work
        }
        last?()
    }
}

/// Forwards reports about a recording's files until ``cut()``.
private final class ObserverLine: RecordingObserver {
    private let ends: [any RecordingObserver]
    private let isCut = Mutex(false)

    init(_ ends: [any RecordingObserver]) { self.ends = ends }

    func cut() { isCut.withLock { $0 = true } }

    private var heard: [any RecordingObserver] { isCut.withLock { $0 } ? [] : ends }

    func segmentFinished(_ record: SegmentRecord) { for end in heard { end.segmentFinished(record) } }
    func segmentRecovered(fileName: String) { for end in heard { end.segmentRecovered(fileName: fileName) } }
    func gapEnded(_ gap: RecordingGap, channel: String, start: UTCTime) {
        for end in heard { end.gapEnded(gap, channel: channel, start: start) }
    }
    func segmentDeleted(fileName: String) { for end in heard { end.segmentDeleted(fileName: fileName) } }
    func directoryChanged() { for end in heard { end.directoryChanged() } }
}

/// A large disk, which other programs can fill, as the storage guard sees it. Retention sees a small disk of its own.
final class FillableDisk: FreeSpaceProbe {
    private static let capacity: Int64 = 1 << 40
    private let full = Mutex(false)

    /// Whether other programs have filled the disk.
    var isFull: Bool {
        get { full.withLock { $0 } }
        set { full.withLock { $0 = newValue } }
    }

    func space(at path: String) throws(FileFailure) -> DiskSpace {
        DiskSpace(free: isFull ? 0 : Self.capacity, capacity: Self.capacity)
    }
}

/// A small disk, which contains only the recordings.
private struct SimulatedSpace: FreeSpaceProbe {
    private static let capacity: Int64 = 500_000

    func space(at path: String) throws(FileFailure) -> DiskSpace {
        var used: Int64 = 0
        for (name, _) in try RecordDirectory.existing(path).recordings() {
            used += (try? FileDescriptor.open(readOnly: "\(path)/\(name)").size()) ?? 0
        }
        return DiskSpace(free: max(0, Self.capacity - used), capacity: Self.capacity)
    }
}
