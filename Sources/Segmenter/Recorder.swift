// SPDX-License-Identifier: Apache-2.0

package import Archive
internal import Dispatch
package import FanOut
package import Logging
package import Media
internal import Synchronization

/// What the storage guard may do to a recorder.
package protocol RecordingControl: AnyObject, Sendable {
    /// Close the open file properly and record nothing for now, for `reason`. Returns at once.
    func suspend(_ reason: String)
    /// Record again from the next keyframe on. Returns at once.
    func resume()
    /// Another file system, or directory, is in the place of the one that the open file is in: close that file where it is,
    /// and begin a new one in the new place with the next keyframe. Returns at once.
    func directoryChanged()
}

/// Records a program to MP4 files, one behind the other without a hole.
///
/// Packets are queued by any thread without waiting; all else happens on the recorder's own serial queue. A failure of
/// the disk ends a file and begins a gap, never the program; recording resumes by itself.
package final class Recorder: PacketConsumer, PacketServer, RecordingControl {
    private let packets: RecorderQueue
    private let queue: DispatchQueue
    private let box = RecorderStatusBox()
    private let closer: SegmentCloser
    private let synchroniser: FileSynchroniser
    private let keyframes: CountedKeyframes
    private let clock: any MonotonicClock
    private let isOver = Mutex(false)
    /// Whether the last drain left packets for another one.
    private let isBehind = Mutex(false)
    private let engine: RecorderEngine

    /// Packets that are taken at once. While a backlog lasts, whatever else is asked of the recorder is served between.
    private static let turn = 256

    /// A recorder of a program that begins with the tracks of `description`; packets say when a track's coding changes. It
    /// asks `keyframes` for the frames that its files begin with.
    package init(
        configuration: RecorderConfiguration, description: StreamDescription, keyframes: any KeyframeRequester,
        clock: any MonotonicClock = SystemClock(), wallClock: @escaping @Sendable () -> UTCTime = { .now },
        logger: Logger
    ) {
        let channel = SegmentName.safe(configuration.channel)
        packets = RecorderQueue(limit: configuration.queueLimitBytes, leading: description.leadingKind)
        queue = DispatchQueue(label: "relay.recorder.\(channel)")
        synchroniser = FileSynchroniser(name: channel)
        closer = SegmentCloser(
            directory: configuration.directory, channel: channel, status: box, observers: configuration.observers,
            synchroniser: synchroniser, clock: clock, logger: logger)
        let keyframes = CountedKeyframes(keyframes)
        self.keyframes = keyframes
        self.clock = clock
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

    /// Makes `time`, in nanoseconds of program time, a chapter of the file that it lies in. Returns at once.
    package func mark(_ text: String, at time: Int64) {
        engine.post { $0.mark(text, at: time) }
    }

    /// Ends the open file with the next keyframe, and asks for that. Returns at once.
    package func cutNow() {
        engine.post { $0.cutNow() }
    }

    /// Ends the open file with the first keyframe of program time `time`, in nanoseconds, or later. The caller asks for that
    /// keyframe. Returns at once.
    package func cut(at time: Int64) {
        engine.post { $0.cut(at: time) }
    }

    /// Closes the open file with what came so far, because nothing comes for now. Returns at once.
    package func pause() {
        packets.pause()
        wake()
    }

    /// What follows up to program time `time`, in nanoseconds, does not come, for `reason`: it is a gap at the end. Returns at
    /// once.
    package func miss(until time: Int64, because reason: String) {
        engine.post { $0.miss(until: time, because: reason) }
    }

    /// Begins no file before program time `time`, in nanoseconds. Returns at once.
    package func wait(until time: Int64) {
        engine.post { $0.wait(until: time) }
    }

    /// A name for a recorder's run that no other one has.
    package static var newRun: String { RecorderEngine.newRun }

    /// Waits while more than half of the queue's bound is queued, or half a second of media. Only for a program that no
    /// clock paces: a live one must not wait for a disk. Returns at once if nothing is being written because the
    /// recorder is suspended, has failed or is over. Blocks the calling thread, which must not be one that the recorder
    /// needs.
    package func waitForRoom() {
        wake()
        // The loop looks again five times a second, for changes without anything being taken out of the queue.
        while isWriting, !packets.waitForRoom(upTo: .milliseconds(200)) {}
    }

    private var isWriting: Bool {
        guard !isOver.withLock({ $0 }) else { return false }
        switch box.value.withLock({ $0.state }) {
        case .waiting, .recording: return true
        case .suspended, .failed, .stopped: return false
        }
    }

    private func drain(_ engine: isolated RecorderEngine) {
        if isOver.withLock({ $0 }) { packets.removeAll() }
        let isEmpty = take(Self.turn, engine)
        if !isOver.withLock({ $0 }) { engine.publish() }
        isBehind.withLock { $0 = !isEmpty }
        if !isEmpty { engine.post { self.drain($0) } }
        watch(engine)
    }

    /// Sees to it that what waits in memory reaches the disk, even if nothing comes any more that would end its fragment.
    private func watch(_ engine: isolated RecorderEngine) {
        guard !engine.isWatched, let wait = engine.untilOverdue else { return }
        engine.isWatched = true
        // Later by a hair, so that it is overdue then.
        queue.asyncAfter(deadline: .now() + .nanoseconds(Int(wait)) + .milliseconds(1)) { [weak self] in
            guard let self else { return }
            self.engine.post { engine in
                engine.isWatched = false
                engine.writeOverdue()
                if !self.isOver.withLock({ $0 }) { engine.publish() }
                self.watch(engine)
            }
        }
    }

    /// Takes at most `count` packets; whether there were no more.
    private func take(_ count: Int, _ engine: isolated RecorderEngine) -> Bool {
        for _ in 0..<count {
            guard let item = packets.pop() else { return true }
            engine.process(item)
        }
        return false
    }

    package func finish(deadline: Int64, completion: @escaping @Sendable () -> Void) {
        let once = OnceCall(completion)
        packets.end()
        engine.post { engine in
            self.end(engine)
            self.closer.whenIdle(self.queue) { once.call() }
        }
        let rest = max(0, deadline - clock.now)
        DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + .nanoseconds(Int(rest))) { once.call() }
    }

    /// Ends at once: what waits is forgotten, the open file is closed properly.
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

    /// Waits until all that was asked of the recorder's queue so far is done; for tests.
    func waitUntilIdle() { repeat { queue.sync {} } while isBehind.withLock { $0 } }

    /// Waits until all files handed to the closer so far are closed; for tests.
    func waitForCloser() { closer.waitUntilIdle() }

    /// Waits until open files are as durable as was asked so far; for tests.
    func waitForSynchroniser() { synchroniser.waitUntilIdle() }

    /// What is on the disk; nil before the first file.
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
