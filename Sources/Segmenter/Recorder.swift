// SPDX-License-Identifier: Apache-2.0

package import Archive
internal import Dispatch
package import FanOut
package import Logging
package import Media
internal import Synchronization

/// The commands that the storage guard can give to a recorder.
package protocol RecordingControl: AnyObject, Sendable {
    /// Closes the open file properly, and records nothing until ``resume()``. `reason` is logged, and becomes the
    /// reason of the gap. Returns at once.
    func suspend(_ reason: String)
    /// Records again from the next keyframe on. Returns at once.
    func resume()
    /// Handles that another directory or file system has replaced that of the open file: closes the open file where it
    /// is, and begins a new file in the replacement at the next keyframe. Returns at once.
    func directoryChanged()
}

/// Records a program to files that follow each other without a gap.
///
/// Any thread can queue packets without waiting. Files are written on the recorder's own serial queue, and are closed
/// and made durable on two other queues. A disk failure ends a file and begins a gap, but never stops the program;
/// recording resumes by itself.
///
/// ```swift
/// let configuration = RecorderConfiguration(
///     directory: try .prepare("/recordings"), channel: "studio", length: .duration(.seconds(1800)))
/// let recorder = Recorder(
///     configuration: configuration, description: description, keyframes: encoder, logger: logger)
/// recorder.accept(packets)?.wake()
/// recorder.finish(deadline: clock.now + .seconds(5)) { print("closed") }
/// ```
package final class Recorder: PacketConsumer, PacketServer, RecordingControl {
    let packets: RecorderQueue
    private let queue: DispatchQueue
    let box = RecorderStatusBox()
    private let closer: SegmentCloser
    private let synchroniser: FileSynchroniser
    private let keyframes: CountedKeyframes
    let clock: any MonotonicClock
    let logger: Logger
    let isOver = Mutex(false)
    let stall = Mutex(Stall())
    /// Whether a drain of the queue has ended before the queue was empty, and another drain is scheduled.
    private let isBehind = Mutex(false)
    let engine: RecorderEngine

    /// The maximum number of packets that one job of the serial queue handles. If more packets are waiting, another job
    /// handles them, so that other requests are served between the two jobs.
    private static let turn = 256

    /// Creates a recorder of a program that begins with the tracks of `description`. The packets themselves report
    /// later changes of the codec configuration. The recorder requests the first frames of its files from `keyframes`.
    package convenience init(
        configuration: RecorderConfiguration, description: StreamDescription, keyframes: any KeyframeRequester,
        clock: any MonotonicClock = SystemClock(), wallClock: @escaping @Sendable () -> UTCTime = { .now },
        logger: Logger
    ) {
        self.init(
            configuration: configuration, description: description, keyframes: keyframes, clock: clock,
            wallClock: wallClock, synchroniser: FileSynchroniser(name: SegmentName.safe(configuration.channel)),
            logger: logger)
    }

    /// Creates a recorder whose files `synchroniser` makes durable. Tests pass a synchroniser that fails.
    init(
        configuration: RecorderConfiguration, description: StreamDescription, keyframes: any KeyframeRequester,
        clock: any MonotonicClock, wallClock: @escaping @Sendable () -> UTCTime, synchroniser: FileSynchroniser,
        logger: Logger
    ) {
        self.synchroniser = synchroniser
        let channel = SegmentName.safe(configuration.channel)
        packets = RecorderQueue(
            limit: configuration.queueLimitBytes, leading: description.leadingKind, own: configuration.ownQueueBytes,
            budget: configuration.queues)
        queue = DispatchQueue(label: "relay.recorder.\(channel)")
        closer = SegmentCloser(
            directory: configuration.directory, channel: channel, status: box, observers: configuration.observers,
            synchroniser: synchroniser, clock: clock, logger: logger)
        let keyframes = CountedKeyframes(keyframes)
        self.keyframes = keyframes
        (self.clock, self.logger) = (clock, logger)
        let environment = RecorderEngine.Environment(
            configuration: configuration, description: description, keyframes: keyframes, clock: clock,
            wallClock: wallClock, queued: { [packets] in packets.depth.milliseconds },
            counted: { [packets] in packets.count($0) }, logger: logger, status: box, closer: closer,
            synchroniser: synchroniser)
        engine = RecorderEngine(environment, on: queue)
    }

    @discardableResult
    package func accept(_ packets: [EncodedPacket]) -> (any PacketServer)? {
        for packet in packets where self.packets.push(packet) { keyframes.requestKeyframe(at: nil) }
        return self.packets.isWorthDraining ? self : nil
    }

    package func wake() {
        guard packets.beginDrain() else { return }
        engine.post { self.drain($0) }
    }

    /// Adds a chapter called `text` at `time` to the file that contains this time. Returns at once.
    package func mark(_ text: String, at time: ProgramInstant) {
        engine.post { $0.mark(text, at: time) }
    }

    /// Requests a keyframe, and ends the open file at that keyframe. Has no effect on a copied program. Returns at
    /// once.
    package func cutNow() {
        engine.post { $0.cutNow() }
    }

    /// Ends the open file at the first keyframe at or after program time `time`. The caller requests that keyframe. A
    /// copied program is cut at the nearest frame instead. Returns at once.
    package func cut(at time: ProgramInstant) {
        engine.post { $0.cut(at: time) }
    }

    /// Closes the open file with the packets that have arrived, because no more packets arrive. Returns at once.
    package func pause() {
        packets.pause()
        wake()
    }

    /// Counts the rest of the program, up to program time `time`, as a gap at the end of the recording. `reason` is the
    /// reason for the gap. Returns at once.
    package func miss(until time: ProgramInstant, because reason: String) {
        engine.post { $0.miss(until: time, because: reason) }
    }

    /// Begins no file before program time `time`. Returns at once.
    package func wait(until time: ProgramInstant) {
        engine.post { $0.wait(until: time) }
    }

    /// Makes a new identifier for a recorder's run. No other run has this identifier.
    package static var newRun: String { RecorderEngine.newRun }

    private func drain(_ engine: isolated RecorderEngine) {
        let isEmpty = take(Self.turn, engine)
        if !isOver.withLock({ $0 }) { engine.publish() }
        isBehind.withLock { $0 = !isEmpty }
        packets.collect(until: engine.collectsUntil)
        if !isEmpty { engine.post { self.drain($0) } }
        watch(engine)
    }

    /// Schedules a check, so that pending packets, and those in the queue, reach the disk even if the packet that
    /// should end their fragment does not arrive.
    private func watch(_ engine: isolated RecorderEngine) {
        guard !engine.isWatched, let wait = engine.untilOverdue else { return }
        engine.isWatched = true
        // One millisecond is added, so that the fragment is certainly overdue when the check runs.
        queue.asyncAfter(deadline: .now() + .nanoseconds(Int(clamping: wait.inNanoseconds)) + .milliseconds(1)) {
            [weak self] in
            guard let self else { return }
            self.engine.post { engine in
                engine.isWatched = false
                let isEmpty = self.take(Self.turn, engine)
                engine.writeOverdue()
                self.packets.collect(until: engine.collectsUntil)
                if !self.isOver.withLock({ $0 }) { engine.publish() }
                // Possibly no further packet arrives that would wake the recorder for the rest of the queue.
                if !isEmpty { self.wake() }
                self.watch(engine)
            }
        }
    }

    /// Handles at most `count` packets; returns whether the queue is empty. After the end of the recording, the packets
    /// are discarded.
    private func take(_ count: Int, _ engine: isolated RecorderEngine) -> Bool {
        if isOver.withLock({ $0 }) { packets.removeAll() }
        for _ in 0..<count {
            guard let item = packets.pop() else { return true }
            engine.process(item)
        }
        return false
    }

    package func finish(deadline: MonotonicInstant, completion: @escaping @Sendable () -> Void) {
        let once = OnceCall(completion)
        packets.end()
        engine.post { engine in
            self.end(engine)
            self.closer.whenIdle(self.queue) { once.call() }
        }
        let rest = DispatchTimeInterval.nanoseconds(Int(clamping: max(.zero, deadline - clock.now).inNanoseconds))
        DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + rest) { once.call() }
    }

    /// Ends the recording at once: discards the queued packets and closes the open file properly.
    package func stop() {
        packets.removeAll()
        engine.post { self.end($0) }
    }

    private func end(_ engine: isolated RecorderEngine) {
        guard
            isOver.withLock({ wasOver in
                defer { wasOver = true }
                return !wasOver
            })
        else { return }
        while let item = packets.pop() { engine.process(item) }
        engine.finish()
        engine.publish(isStopped: true)
    }

    package func suspend(_ reason: String) {
        engine.post { engine in
            engine.suspend(reason)
            engine.publish()
        }
    }

    package func resume() {
        engine.post { engine in
            engine.resume()
            engine.publish()
        }
    }

    package func directoryChanged() {
        engine.post { engine in
            engine.directoryChanged()
            engine.publish()
        }
    }

    /// Waits until the recorder's queue has done all requests so far; for tests.
    func waitUntilIdle() { repeat { queue.sync {} } while isBehind.withLock { $0 } }

    /// Waits until all files handed to the closer so far are closed; for tests.
    func waitForCloser() { closer.waitUntilIdle() }

    /// Waits until the synchroniser has done all requests so far; for tests.
    func waitForSynchroniser() { synchroniser.waitUntilIdle() }

    /// The recorded part of the program; nil before the first file.
    package var stretch: RecordedStretch? { box.stretch.withLock { $0 } }

    /// A snapshot for status and metrics.
    package var status: RecorderStatus {
        var status = box.value.withLock { status in
            var status = status
            status.gapFrames += packets.uncounted
            return status
        }
        (status.queueBytes, status.queueMilliseconds) = packets.depth
        status.keyframesRequested = keyframes.counts
        return status
    }
}

/// A closure that is called at most once, by the first caller.
private final class OnceCall: Sendable {
    private let closure: Mutex<(@Sendable () -> Void)?>

    init(_ closure: @escaping @Sendable () -> Void) { self.closure = Mutex(closure) }

    func call() {
        closure.withLock { closure in
            defer { closure = nil }
            return closure
        }?()
    }
}
