// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import LibAV
package import Logging
package import Media
internal import Program
internal import Synchronization

/// A stinger's file, decoded some frames ahead on a queue of its own, `relay.stinger.<name>`. Its first frames are kept, so that
/// it is ready from there on as soon as it is rewound, also while it is shown. All calls may come from any thread.
package final class StingerReel: Stinger {
    private struct State {
        /// The first frames of the file.
        var first: [VideoFrame] = []
        /// Decoded and not shown; the first of them is frame `next`.
        var waiting: [VideoFrame] = []
        var next: Int64 = 0
        var shown: VideoFrame?
        var isAtEnd = false
        /// Counts the times that it was made ready again.
        var turn = 0
        var isStopped = false
    }

    /// How many frames are decoded ahead: enough to hide a keyframe and a busy machine, or fewer where frames are large, so that
    /// they take 64 MiB: twelve of 1080p, with alpha 5.2 MB each. As many are kept beside them while it is shown.
    private static func room(_ format: VideoFormat) -> Int {
        // A plane of luma, one of alpha, and half of one of chroma.
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
    /// Signalled for each frame, if they are waited for: in a program that is made faster than the clock.
    private let news: DispatchSemaphore?

    /// Reads the file of `stinger` once, which blocks, and makes it ready. Throws ``ChannelFailure`` where it cannot be shown in
    /// a program of this format.
    init(
        _ stinger: StingerSpecification, format: VideoFormat, isAwaited: Bool = false, logger: Logger
    ) throws(ChannelFailure) {
        news = isAwaited ? DispatchSemaphore(value: 0) : nil
        (name, path, self.format, self.logger) = (stinger.name, stinger.path, format, logger)
        room = Self.room(format)
        let most = format.frameRate.frames(atLeast: .seconds(StingerSpecification.longest))
        do throws(AVFailure) {
            frames = try Self.count(stinger.path, format, most: most)
        } catch {
            throw ChannelFailure(.inputUnreadable, "The stinger \(stinger.name) cannot be shown: \(error).")
        }
        cut = Int64((stinger.cut * format.frameRate.value).rounded())
        let (seconds, longest) = (Double(frames) / format.frameRate.value, Int(StingerSpecification.longest))
        let text = "The stinger \(stinger.name)"
        if frames > most { throw ChannelFailure(.configuration, "\(text) lasts longer than \(longest) s.") }
        if cut >= frames {
            throw ChannelFailure(.configuration, "\(text) cuts at \(stinger.cut) s, and lasts \(seconds) s.")
        }
        queue = DispatchQueue(label: "relay.stinger.\(stinger.name)")
        queue.async { [self] in run() }
    }

    /// Those of `stingers`, as ``init(_:format:logger:)`` makes them.
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

    /// How many frames the file has; one more than `most` where it has more.
    private static func count(_ path: String, _ format: VideoFormat, most: Int64) throws(AVFailure) -> Int64 {
        let reader = try AlphaVideoReader(path, format: format)
        var count: Int64 = 0
        while count <= most, try reader.next() != nil { count += 1 }
        return count
    }

    func frame(_ number: Int64) -> VideoFrame? {
        defer { work.signal() }
        if let news { wait(for: number, news) }
        return state.withLock { state in
            while !state.waiting.isEmpty, state.next <= number {
                state.shown = state.waiting.removeFirst()
                state.next += 1
            }
            return state.shown
        }
    }

    /// Waits until frame `number` is there, or will never be.
    private func wait(for number: Int64, _ news: DispatchSemaphore) {
        while state.withLock({ state in
            let isThere = state.next + Int64(state.waiting.count) > number
            return !isThere && !state.isAtEnd && !state.isStopped
        }) {
            // What was decoded before is in the way of what is wanted.
            state.withLock { state in
                guard state.waiting.count >= room else { return }
                state.shown = state.waiting.removeFirst()
                state.next += 1
            }
            work.signal()
            news.wait()
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

    /// Lets go of the file. Returns at once.
    package func stop() {
        state.withLock { $0.isStopped = true }
        work.signal()
        news?.signal()
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

    /// Reads the file until it is to be read from its beginning again.
    private func read(_ turn: Int) throws(AVFailure) {
        let reader = try AlphaVideoReader(path, format: format)
        var number = 0
        while wait(turn, for: number) {
            guard let frame = try reader.next() else {
                finish(turn)
                continue
            }
            state.withLock { state in
                // The first ones are there already where it was read before.
                guard state.turn == turn, number >= state.first.count else { return }
                state.waiting.append(frame)
                if state.first.count < room { state.first.append(frame) }
            }
            number += 1
            news?.signal()
        }
    }

    private func finish(_ turn: Int) {
        state.withLock { if $0.turn == turn { $0.isAtEnd = true } }
        news?.signal()
    }

    /// Waits until frame `number` is needed; false if it is to be read from its beginning, or not at all.
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
