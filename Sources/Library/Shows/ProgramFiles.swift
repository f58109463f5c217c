// SPDX-License-Identifier: Apache-2.0

internal import Catalogue
internal import Media

/// The recorded files of a program on one timeline, which counts frames from the first frame of the first file. The
/// distance between two files of the same run follows from their program times; between files of different runs it
/// follows from the wall clock. Pure.
struct ProgramFiles {
    private struct File {
        let rate: FrameRate
        /// The run of the file's recorder; nil if that is not known.
        let run: String?
        /// The wall-clock time at which the file's first frame was on air, in nanoseconds since 1970.
        let start: Int64
        /// The number of the file's first frame in the program.
        let first: Int64
        let frames: Int64
        /// The position of the file's first frame on the timeline.
        let place: Int64

        /// The wall-clock time at which the frame number `number` of the file was on air, counted from its first frame.
        func time(of number: Int64) -> Int64 { start + rate.timeBase.duration(number).inNanoseconds }
    }

    private let files: [File]
    /// The indices of the files, by run, in the order of time.
    private let runs: [String: [Int]]

    /// The maximum difference, in nanoseconds, between the date of an event and the date of its frame in a file: files
    /// are dated to the millisecond, and events are dated when their frames are made.
    private static let near: Int64 = 2_000_000_000

    private static let mostFrames: Int64 = 1 << 40

    /// Creates the timeline of `segments`, which belong to one channel. Segments of the same run are in the order of
    /// the program, even if the clock was changed.
    init(_ segments: [CatalogueSegment]) {
        let began = Dictionary(segments.map { ($0.run ?? $0.name, $0.start) }, uniquingKeysWith: min)
        let order = { (segment: CatalogueSegment) in
            (began[segment.run ?? segment.name] ?? 0, segment.programStart ?? 0, segment.start)
        }
        var files: [File] = []
        for segment in segments.sorted(by: { order($0) < order($1) }) {
            let rate = FrameRate(frameDuration: segment.frameDuration)
            let start = min(max(0, segment.start), 9_000_000_000_000) * 1_000_000
            let first = rate.timeBase.ticks(.nanoseconds(segment.programStart ?? 0))
            let frames = max(0, rate.timeBase.ticks(.nanoseconds(min(segment.duration, 1 << 56))))
            var place: Int64 = 0
            if let last = files.last {
                let gap = max(0, start - last.time(of: last.frames))
                let isSameRun = segment.run != nil && segment.run == last.run
                let distance =
                    isSameRun ? first - last.first : last.frames + rate.timeBase.ticks(.nanoseconds(gap))
                place = last.place + max(0, distance)
            }
            files.append(File(rate: rate, run: segment.run, start: start, first: first, frames: frames, place: place))
        }
        self.files = files
        runs = Dictionary(grouping: files.indices.filter { files[$0].run != nil }) { files[$0].run ?? "" }
    }

    /// The frame rate of the first file.
    var rate: FrameRate { files.first?.rate ?? FrameRate(25) }

    /// All runs of the files.
    var runNames: Set<String> { Set(runs.keys) }

    /// Returns the position at which `scene` went on air, and the end of its recorder's run; nil if no file of that run
    /// exists. `time` is when the event was recorded, in nanoseconds since 1970; it is used if the event does not name
    /// the run.
    ///
    /// If a scene began before the existing files, or while nothing was recorded, `late` is the number of its frames
    /// that are in no file.
    func place(of scene: SceneEvent, toldAt time: Int64) -> (range: Range<Int64>, late: Int64)? {
        // A frame number that no program reaches comes from a damaged event.
        let frame = min(max(-Self.mostFrames, scene.frame), Self.mostFrames)
        guard let run = scene.run else { return place(of: frame, at: time) }
        guard let own = runs[run], let last = own.last else { return nil }
        var index = own.last { files[$0].first <= frame } ?? own[0]
        // A scene that went on air while nothing was recorded begins with the next file.
        if frame >= files[index].first + files[index].frames {
            index = own.first { files[$0].first > frame } ?? index
        }
        return range(from: index, frame - files[index].first, to: last)
    }

    private func place(of frame: Int64, at time: Int64) -> (range: Range<Int64>, late: Int64)? {
        guard let index = files.firstIndex(where: { time < $0.time(of: $0.frames) }) else { return nil }
        let file = files[index]
        let frames = frame - file.first
        let told = file.rate.timeBase.ticks(.nanoseconds(time - file.start))
        let isExact = abs(frames - told) < file.rate.timeBase.ticks(.nanoseconds(Self.near))
        return range(from: index, isExact ? frames : told, to: file.run.flatMap { runs[$0]?.last } ?? index)
    }

    private func range(from index: Int, _ frames: Int64, to last: Int) -> (range: Range<Int64>, late: Int64)? {
        let end = files[last].place + files[last].frames
        let place = files[index].place + min(max(0, frames), end)
        return place < end ? (place..<end, max(0, -frames)) : nil
    }

    /// The wall-clock time at which the frame at `place` was on air, in nanoseconds since 1970.
    func time(of place: Int64) -> Int64 {
        guard let file = file(of: place) else { return 0 }
        return file.time(of: place - file.place)
    }

    /// The wall-clock time at which the frame at `place` ended, by the frame rate of its file.
    func end(of place: Int64) -> Int64 {
        guard let file = file(of: place) else { return 0 }
        return file.time(of: place - file.place + 1)
    }

    /// The middle of the time in which the frame at `place` was on air. Even after rounding, it identifies that frame.
    func middle(of place: Int64) -> Int64 { (time(of: place) + end(of: place)) / 2 }

    private func file(of place: Int64) -> File? { files.last { $0.place <= place } ?? files.first }

    /// The frame that was on air at `time`, in nanoseconds since 1970; if `roundedUp` is set, the first frame that
    /// began at that time or later.
    func place(at time: Int64, roundedUp: Bool = false) -> Int64 {
        guard let index = files.lastIndex(where: { $0.start <= time }) else { return 0 }
        let file = files[index]
        let frames = TimeBase.nanoseconds.rescale(
            time - file.start, to: file.rate.timeBase, rounding: roundedUp ? .up : .down)
        return index + 1 < files.count ? min(file.place + frames, files[index + 1].place) : file.place + frames
    }
}

extension FrameRate {
    /// Creates the rate whose frames last `frameDuration` nanoseconds, as exactly as whole nanoseconds can express it.
    init(frameDuration: Int64) {
        let duration = Double(max(100_000, frameDuration))
        // Whole rates, half rates, and the rates of NTSC.
        for (step, divisor) in [(1.0, 1.0), (1, 2), (1000, 1001)] {
            let number = (divisor * 1e9 / duration / step).rounded() * step
            guard number >= 1, abs(divisor * 1e9 / number - duration) < max(1.5, duration / 5000) else { continue }
            self.init(Int32(number), Int32(divisor))
            return
        }
        self.init(Int32(max(1, (1e12 / duration).rounded())), 1000)
    }
}
