// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import LibAV
package import Logging
package import Media
internal import Program
internal import Synchronization

/// A stinger's file, which is decoded some frames ahead on its own queue, `relay.stinger.<name>`. The first frames of
/// the file are kept, so that the stinger is ready again at once when it is rewound, even while it is visible. All
/// calls can be made on any thread.
package final class StingerReel: Stinger {
    private struct State {
        /// The first frames of the file, which are kept for the next rewind.
        var first: [VideoFrame] = []
        /// Frames that are decoded but not shown yet. The first of them is frame number `next`.
        var waiting: [VideoFrame] = []
        var next: Int64 = 0
        var shown: VideoFrame?
        var isAtEnd = false
        /// The number of rewinds so far.
        var turn = 0
        var isStopped = false
    }

    /// The number of frames that are decoded ahead. These frames must last while a slow keyframe is decoded or the
    /// machine is busy. They take no more than 64 MiB, which is enough for twelve frames of 1080p (5.2 MB each with
    /// alpha), but there are always at least four. The first frames that are kept take the same amount again.
    private static func room(_ format: VideoFormat) -> Int {
        // Each pixel takes 5/2 bytes: one luma plane, one alpha plane, and two chroma planes of a quarter each.
        max(4, min(12, (64 << 20) / (format.width * format.height * 5 / 2)))
    }

    private let room: Int
    let name: String
    let frames: Int64
    let cut: Int64
    private let path: String
    private let format: VideoFormat
    private let logger: Logger
    private let queue: DispatchQueue
    private let state = Mutex(State())
    private let work = DispatchSemaphore(value: 0)
    /// Signalled for each decoded frame, at the file's end and by ``stop()``, in a program that is rendered faster than
    /// real time, because this program waits for frames; nil in other programs.
    private let dataAvailable: DispatchSemaphore?

    /// Reads the whole file of `stinger` once, which blocks, and makes the stinger ready. Throws ``ChannelFailure`` if
    /// the stinger cannot be shown in a program of this format.
    init(
        _ stinger: StingerSpecification, format: VideoFormat, isAwaited: Bool = false, logger: Logger
    ) throws(ChannelFailure) {
        dataAvailable = isAwaited ? DispatchSemaphore(value: 0) : nil
        (name, path, self.format, self.logger) = (stinger.name, stinger.path, format, logger)
        room = Self.room(format)
        let most = format.frameRate.frames(atLeast: .seconds(StingerSpecification.longest))
        let attempt = ChannelFailure.Attempt.showStinger(stinger.name)
        do throws(AVFailure) {
            frames = try Self.count(stinger.path, format, most: most)
        } catch {
            throw ChannelFailure(.inputUnreadable, attempt, because: error)
        }
        cut = Int64((stinger.cut * format.frameRate.value).rounded())
        let (seconds, longest) = (Double(frames) / format.frameRate.value, Int(StingerSpecification.longest))
        let text = "The stinger \(stinger.name)"
        if frames > most {
            throw ChannelFailure(.configuration, attempt, saying: "\(text) lasts longer than \(longest) s.")
        }
        if cut >= frames {
            throw ChannelFailure(
                .configuration, attempt, saying: "\(text) cuts at \(stinger.cut) s, and lasts \(seconds) s.")
        }
        queue = DispatchQueue(label: "relay.stinger.\(stinger.name)")
        queue.async { [self] in run() }
    }

    /// Creates the reels of all `stingers`: see ``init(_:format:isAwaited:logger:)``.
    package static func all(
        _ stingers: [StingerSpecification], format: VideoFormat, isAwaited: Bool = false, logger: Logger
    ) throws(ChannelFailure) -> [StingerReel] {
        var reels: [StingerReel] = []
        do throws(ChannelFailure) {
            for stinger in stingers {
                reels.append(try StingerReel(stinger, format: format, isAwaited: isAwaited, logger: logger))
            }
        } catch {
            for reel in reels { reel.stop() }
            throw error
        }
        return reels
    }

    /// The number of frames in the file; `most` + 1 if the file has more than `most`.
    private static func count(_ path: String, _ format: VideoFormat, most: Int64) throws(AVFailure) -> Int64 {
        let reader = try AlphaVideoReader(path, format: format)
        var count: Int64 = 0
        while count <= most, try reader.next() != nil { count += 1 }
        return count
    }

    func frame(_ number: Int64) -> VideoFrame? {
        defer { work.signal() }
        if let dataAvailable { wait(for: number, dataAvailable) }
        return state.withLock { state in
            while !state.waiting.isEmpty, state.next <= number {
                state.shown = state.waiting.removeFirst()
                state.next += 1
            }
            return state.shown
        }
    }

    /// Waits until frame `number` is decoded, or until it is certain that this frame will never be decoded.
    private func wait(for number: Int64, _ dataAvailable: DispatchSemaphore) {
        while state.withLock({ state in
            let isThere = state.next + Int64(state.waiting.count) > number
            return !isThere && !state.isAtEnd && !state.isStopped
        }) {
            // If `waiting` is full, its oldest frame is removed, so that the requested frame can be decoded.
            state.withLock { state in
                guard state.waiting.count >= room else { return }
                state.shown = state.waiting.removeFirst()
                state.next += 1
            }
            work.signal()
            dataAvailable.wait()
        }
    }

    func rewind() {
        state.withLock { state in
            state.waiting = state.first
            (state.next, state.shown, state.isAtEnd) = (0, nil, false)
            state.turn += 1
        }
        work.signal()
    }

    /// Releases the file. Returns at once.
    package func stop() {
        state.withLock { $0.isStopped = true }
        work.signal()
        dataAvailable?.signal()
    }

    private func run() {
        while let turn = state.withLock({ $0.isStopped ? nil : $0.turn }) {
            do throws(AVFailure) {
                try read(turn)
            } catch {
                logger.error("a stinger cannot be read", metadata: ["stinger": "\(name)", "reason": "\(error)"])
                finish(turn)
                wait(turn, for: 0)
            }
        }
    }

    /// Reads the file until its end or the next rewind.
    private func read(_ turn: Int) throws(AVFailure) {
        let reader = try AlphaVideoReader(path, format: format)
        var number = 0
        while wait(turn, for: number) {
            guard let frame = try reader.next() else {
                finish(turn)
                continue
            }
            state.withLock { state in
                // After a rewind, `waiting` already contains the first frames of the file, so they are decoded here but
                // not appended.
                guard state.turn == turn, number >= state.first.count else { return }
                state.waiting.append(frame)
                if state.first.count < room { state.first.append(frame) }
            }
            number += 1
            dataAvailable?.signal()
        }
    }

    private func finish(_ turn: Int) {
        state.withLock { if $0.turn == turn { $0.isAtEnd = true } }
        dataAvailable?.signal()
    }

    /// Waits until there is room for frame `number`. Returns false if the stinger was rewound or stopped.
    @discardableResult
    private func wait(_ turn: Int, for number: Int) -> Bool {
        while true {
            let (isWanted, hasRoom) = state.withLock {
                (
                    $0.turn == turn && !$0.isStopped,
                    !$0.isAtEnd && (number < $0.first.count || $0.waiting.count < room)
                )
            }
            if !isWanted { return false }
            if hasRoom { return true }
            work.wait()
        }
    }
}
