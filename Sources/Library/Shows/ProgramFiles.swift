// SPDX-License-Identifier: Apache-2.0

internal import Catalogue
internal import Media

/// Places the recorded files of a program on one timeline, which counts frames from the first frame of the first file.
/// A run is the work of a recorder from its start to its end. Program times give the distance between two files of the
/// same run; the wall clock gives the distance between files of different runs. Uses neither clock nor disk.
struct ProgramFiles {
    private struct File {
        let rate: FrameRate
        /// Identifies the run of the recorder that wrote the file; nil if it is not known.
        let run: String?
        /// The wall-clock time at which the file's first frame was on air, in nanoseconds since 1970.
        let start: Int64
        /// The number of the file's first frame in the program.
        let first: Int64
        let frames: Int64
        /// The position of the file's first frame on the timeline, in frames.
        let place: Int64

        /// The wall-clock time at which a frame of the file was on air, in nanoseconds since 1970. `number` counts
        /// frames from the file's first frame.
        func time(of number: Int64) -> Int64 { start + rate.timeBase.duration(number).inNanoseconds }
    }

    private let files: [File]
    /// The indices of each run's files in `files`, in the order of time.
    private let runs: [String: [Int]]

    /// The frame number of an event that does not name its run is used only if the frame's time in the file differs
    /// from the event's time by less than this; otherwise the event's time is used. The two are never
    /// exactly equal: file times are in milliseconds, and an event gets the wall-clock time at which its scene is
    /// reported.
    private static let near = Duration.seconds(2)

    private static let mostFrames: Int64 = 1 << 40

    /// Creates the timeline of `segments`, which belong to one channel. Segments of the same run are sorted by program
    /// time, so that their order is right even if the wall clock was changed.
    init(_ segments: [CatalogueSegment]) {
        let began = Dictionary(segments.map { ($0.run ?? $0.name, $0.start) }, uniquingKeysWith: min)
        let order = { (segment: CatalogueSegment) in
            (began[segment.run ?? segment.name] ?? 0, segment.programStart ?? .zero, segment.start)
        }
        var files: [File] = []
        for segment in segments.sorted(by: { order($0) < order($1) }) {
            let rate = FrameRate(frameDuration: segment.frameDuration)
            let start = min(max(0, segment.start), 9_000_000_000_000) * 1_000_000
            let first = rate.frame(at: segment.programStart ?? .zero).number
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

    /// The frame rate of the first file; 25 if there are no files.
    var rate: FrameRate { files.first?.rate ?? FrameRate(25) }

    /// The names of all runs of recorders from which the files come.
    var runNames: Set<String> { Set(runs.keys) }

    /// Returns the range of the timeline from the frame at which `scene` went on air to the end of the recorder's run;
    /// nil if no file of that run exists. `time` is the time at which the event was recorded, in nanoseconds since
    /// 1970. It is used if the event does not name its run.
    ///
    /// If a scene began before the existing files, or while nothing was recorded, `late` is the number of its frames
    /// that are in no file.
    func place(of scene: SceneEvent, toldAt time: Int64) -> (range: Range<Int64>, late: Int64)? {
        // A damaged event may contain a frame number that no program reaches. Such numbers are clamped.
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
        let isExact = abs(frames - told) < file.rate.timeBase.ticks(Self.near)
        return range(from: index, isExact ? frames : told, to: file.run.flatMap { runs[$0]?.last } ?? index)
    }

    private func range(from index: Int, _ frames: Int64, to last: Int) -> (range: Range<Int64>, late: Int64)? {
        let end = files[last].place + files[last].frames
        let place = files[index].place + min(max(0, frames), end)
        return place < end ? (place..<end, max(0, -frames)) : nil
    }

    /// The wall-clock time at which the frame at position `place` of the timeline was on air, in nanoseconds since
    /// 1970.
    func time(of place: Int64) -> Int64 {
        guard let file = file(of: place) else { return 0 }
        return file.time(of: place - file.place)
    }

    /// The wall-clock time at which the frame at position `place` of the timeline ended, according to the frame rate of
    /// its file.
    func end(of place: Int64) -> Int64 {
        guard let file = file(of: place) else { return 0 }
        return file.time(of: place - file.place + 1)
    }

    /// The wall-clock time in the middle of the frame at position `place` of the timeline. It identifies that frame
    /// even after rounding.
    func middle(of place: Int64) -> Int64 { (time(of: place) + end(of: place)) / 2 }

    private func file(of place: Int64) -> File? { files.last { $0.place <= place } ?? files.first }

    /// The timeline position of the frame that was on air at `time`, in nanoseconds since 1970; 0 before the first
    /// file. If `roundedUp` is set, it is the position of the first frame that began at that time or later.
    func place(at time: Int64, roundedUp: Bool = false) -> Int64 {
        guard let index = files.lastIndex(where: { $0.start <= time }) else { return 0 }
        let file = files[index]
        let frames = TimeBase.nanoseconds.rescale(
            time - file.start, to: file.rate.timeBase, rounding: roundedUp ? .up : .down)
        return index + 1 < files.count ? min(file.place + frames, files[index + 1].place) : file.place + frames
    }
}

extension FrameRate {
    /// Creates the rate whose frames last `frameDuration` nanoseconds. Because that number is rounded, a common rate
    /// close to it is preferred.
    init(frameDuration: Int64) {
        let duration = Double(max(100_000, frameDuration))
        // Common rates are whole numbers, multiples of one half, and the rates of NTSC.
        for (step, divisor) in [(1.0, 1.0), (1, 2), (1000, 1001)] {
            let number = (divisor * 1e9 / duration / step).rounded() * step
            guard number >= 1, abs(divisor * 1e9 / number - duration) < max(1.5, duration / 5000) else { continue }
            self.init(Int32(number), Int32(divisor))
            return
        }
        self.init(Int32(max(1, (1e12 / duration).rounded())), 1000)
    }
}
