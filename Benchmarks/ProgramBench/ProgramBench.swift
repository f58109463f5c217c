// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Kernels
internal import Media
internal import Program

/// Measures the cost of making a frame of a program; `scripts/bench program` runs it.
///
/// `ProgramBench [WIDTH HEIGHT [FRAMES]]` prints a table in Markdown: CPU time of the thread for each frame.
@main
struct ProgramBench {
    static func main() {
        let numbers = CommandLine.arguments.dropFirst().map { Int($0) ?? 0 }
        guard numbers.count <= 3, numbers.allSatisfy({ $0 > 0 }), numbers.prefix(2).allSatisfy({ $0 % 2 == 0 }) else {
            print("usage: ProgramBench [WIDTH HEIGHT [FRAMES]]")
            exit(64)
        }
        let (width, height) = numbers.count >= 2 ? (numbers[0], numbers[1]) : (1920, 1080)
        let bench = Bench(width: width, height: height, frames: numbers.count == 3 ? numbers[2] : 720)
        print("| \(width)x\(height), ms of CPU per frame | mean | p99 | most |")
        print("|---|--:|--:|--:|")
        bench.measureLayouts()
        bench.measureChanges()
        bench.measureOverlays()
        bench.measureTransitions()
    }
}

/// The frames that are drawn, and the clock.
struct Bench {
    private let pool: FramePool
    private let format: VideoFormat
    private let frames: Int
    /// The frames of the sources, which need more memory than a cache has.
    private let sources: [VideoFrame]

    init(width: Int, height: Int, frames: Int) {
        self.frames = frames
        let pool = FramePool(width: width, height: height)
        self.pool = pool
        format = VideoFormat(width: width, height: height, frameRate: FrameRate(30))
        sources = (0..<24).map { index in
            let storage = FrameBuffer(width: width, height: height) { pixels in
                // A gradient with noise, which differs from frame to frame.
                var state = UInt32(index + 1)
                for place in pixels.indices {
                    state = state &* 1_664_525 &+ 1_013_904_223
                    pixels[place] = UInt8(truncatingIfNeeded: place / width &+ index &* 8 &+ Int(state >> 28))
                }
            }
            return VideoFrame(
                pts: Int64(index), timeBase: .milliseconds, width: width, height: height, storage: storage)
        }
    }

    /// A frame of source `number`. It differs from program frame to program frame, and from source to source.
    private func source(_ number: Int, at frame: Int) -> VideoFrame { sources[(frame + number * 5) % sources.count] }

    /// Measures what is made for each frame on air, with the code that makes it there.
    func measureLayouts() {
        measureScene("single", layout(.single, 1))
        measureScene("PiP", layout(.pip, 2))
        var pip = layout(.pip, 2)
        pip[1].destination = .init(x: 0.6, y: 0.6, width: 0.3, height: 0.3)
        measureScene("PiP, 0.3 of the width", pip)
        pip[1].destination = .init(x: 0.1, y: 0.1, width: 0.7, height: 0.7)
        measureScene("PiP, 0.7 of the width", pip)
        measureScene("split", layout(.splitHorizontal, 2))
        measureScene("split, one above the other", layout(.splitVertical, 2))
        measureScene("split, fitted, bars", layout(.splitHorizontal, 2, fit: .contain))
        measureScene("grid 2x2", layout(.grid, 4))
        measureScene("grid 3x3", layout(.grid, 9))
        measure("copy of a frame") { pool, frame, canvas in canvas.copy(source(0, at: frame)) }
        let inset = layout(.pip, 2)[1]
        let scaler = Scaler()
        measure("inset drawn in place", isDrawn: true) { pool, frame, canvas in
            scaler.draw(source(1, at: frame), at: inset, on: &canvas)
        }
    }

    /// Measures changes from one scene to another.
    func measureChanges() {
        let (pip, split) = (layout(.pip, 2), layout(.splitHorizontal, 2))
        var corner = pip
        (corner[1].destination.x, corner[1].destination.y) = (0.025, 0.025)
        measureMove("move, full and inset to halves", pip, split)
        measureMove("move, inset from corner to corner", pip, corner)
        var (before, after) = (Compositor(format), Compositor(format))
        measureComposed("fade from PiP to split") { frame in
            let (a, b) = (before.compose(layers(pip, frame)), after.compose(layers(split, frame + 7)))
            return before.blend(a, b, by: Transition(.fade), progress: Self.progress(frame))
        }
        let swapped = [pip[1], pip[0]]
        measureComposed("move, main and inset change places") { frame in
            let progress = Self.progress(frame)
            let layers = layers(zip(pip, swapped).map { $0.interpolated(to: $1, fraction: progress) }, frame)
            return progress < 0.5
                ? before.compose(layers, exchanged: progress)
                : before.compose(layers.reversed(), exchanged: 1 - progress)
        }
    }

    private func layout(_ kind: SceneLayout.Kind, _ count: Int, fit: SceneLayout.Fit? = nil) -> [Placement] {
        SceneLayout(kind, (0..<count).map { "\($0)" }, fit: fit).placements(in: .bt709)
    }

    private func layers(_ places: [Placement], _ frame: Int) -> [(frame: VideoFrame?, placement: Placement)] {
        places.enumerated().map { (source($0, at: frame), $1) }
    }

    private static func progress(_ frame: Int) -> Double { Double(frame % 60 + 1) / 61 }

    private func measureScene(_ name: String, _ places: [Placement]) {
        var compositor = Compositor(format)
        measureComposed(name) { compositor.compose(layers(places, $0)) }
    }

    private func measureMove(_ name: String, _ from: [Placement], _ to: [Placement]) {
        var compositor = Compositor(format)
        measureComposed(name) { frame in
            let places = zip(from, to).map { $0.interpolated(to: $1, fraction: Self.progress(frame)) }
            return compositor.compose(layers(places, frame))
        }
    }

    func measureOverlays() {
        let (width, height) = (pool.width, pool.height)
        let title = OverlayImage(
            rgba: (0..<width * (height / 5) * 4).map { UInt8(truncatingIfNeeded: $0 * 7) }, width: width,
            height: height / 5, color: .bt709)
        var compositor = Compositor(format)
        let scenes = [("a single source", layout(.single, 1)), ("a PiP", layout(.pip, 2))]
        for (name, places) in scenes {
            measureComposed("\(name) below a title over a fifth") { frame in
                var made: VideoFrame? = compositor.compose(layers(places, frame))
                compositor.draw(over: &made) { title.draw(on: &$0, x: 0, y: height * 3 / 4) }
                return made
            }
        }
        measure("stinger over all, in place", isDrawn: true) { pool, frame, canvas in
            source(2, at: frame).storage.withPlanes { planes in
                canvas.draw(source(1, at: frame), alpha: planes.y)
            }
        }
    }

    func measureTransitions() {
        let start = Self.now()
        let renderer = TransitionRenderer(width: pool.width, height: pool.height)
        let milliseconds = Double(Self.now() - start) / 1e6
        for kind in Transition.Kind.allCases {
            measure(kind.rawValue) { pool, frame, canvas in
                renderer.render(
                    source(0, at: frame), source(1, at: frame), Transition(kind),
                    progress: Double(frame % 60 + 1) / 61, into: &canvas)
            }
        }
        print("\nMaking a renderer: \(Self.text(milliseconds)) ms")
    }

    /// Prints a row of the table. If `isDrawn` is set, the canvas shows a frame before the clock starts.
    private func measure(_ name: String, isDrawn: Bool = false, _ draw: (FramePool, Int, inout Canvas) -> Void) {
        var times: [Int64] = []
        for frame in -10..<frames {
            var canvas = isDrawn ? pool.canvas(showing: source(0, at: frame + 240)) : pool.canvas()
            let start = Self.now()
            draw(pool, frame + 240, &canvas)
            if frame >= 0 { times.append(Self.now() - start) }
            _ = canvas.finish(pts: 0, timeBase: .milliseconds)
        }
        show(name, times)
    }

    /// Prints a row of the table with the cost of `make`.
    private func measureComposed(_ name: String, _ make: (Int) -> VideoFrame?) {
        var times: [Int64] = []
        for frame in -10..<frames {
            let start = Self.now()
            let made = make(frame + 240)
            if frame >= 0 { times.append(Self.now() - start) }
            withExtendedLifetime(made) {}
        }
        show(name, times)
    }

    private func show(_ name: String, _ unsorted: [Int64]) {
        let times = unsorted.sorted()
        let mean = Double(times.reduce(0, +)) / Double(times.count) / 1e6
        let (high, most) = (Double(times[times.count * 99 / 100]) / 1e6, Double(times[times.count - 1]) / 1e6)
        print("| \(name) | \(Self.text(mean)) | \(Self.text(high)) | \(Self.text(most)) |")
    }

    /// CPU time of this thread in nanoseconds.
    private static func now() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    private static func text(_ value: Double) -> String {
        let hundredths = Int((value * 100).rounded())
        return "\(hundredths / 100).\(hundredths % 100 < 10 ? "0" : "")\(hundredths % 100)"
    }
}
