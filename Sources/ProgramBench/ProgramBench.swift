// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Media
internal import Program

/// Measures what it costs to make a frame of a program; `scripts/bench program` runs it.
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
        bench.measureOverlays()
        bench.measureTransitions()
    }
}

/// Frames to draw with, and the clock.
struct Bench {
    private let pool: FramePool
    private let frames: Int
    /// More than a cache holds.
    private let sources: [VideoFrame]

    init(width: Int, height: Int, frames: Int) {
        self.frames = frames
        let pool = FramePool(width: width, height: height)
        self.pool = pool
        sources = (0..<24).map { index in
            let storage = FrameBuffer(width: width, height: height) { pixels in
                // A gradient with noise, another in each frame.
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

    /// A source's frame; another at each frame of the program, and another for each source.
    private func source(_ number: Int, at frame: Int) -> VideoFrame { sources[(frame + number * 5) % sources.count] }

    func measureLayouts() {
        let scaler = Scaler()
        let border = Placement.Border(width: 0.004, color: PixelColor(y: 235, u: 128, v: 128))
        var inset = Placement.inset
        let plain = inset
        (inset.cornerRadius, inset.border) = (0.02, border)
        measure("copy of a frame") { pool, frame, canvas in canvas.copy(source(0, at: frame)) }
        measureInPlace("PiP in place, sharp corners", plain)
        measureInPlace("PiP in place, border, round corners", inset)
        measure("PiP with a copy, border, round corners") { pool, frame, canvas in
            canvas.copy(source(0, at: frame))
            scaler.draw(source(1, at: frame), at: inset, on: &canvas)
        }
        var odd = inset
        odd.destination = .init(x: 0.6, y: 0.6, width: 0.3, height: 0.3)
        measureInPlace("PiP in place, 0.3 of the width", odd)
        odd.destination = .init(x: 0.1, y: 0.1, width: 0.7, height: 0.7)
        measureInPlace("PiP in place, 0.7 of the width", odd)
        measureParts("split", (0..<2).map { Placement.part($0, of: 2, horizontal: true) })
        measureParts("split, one above the other", (0..<2).map { Placement.part($0, of: 2, horizontal: false) })
        measureParts(
            "split, fitted, bars", (0..<2).map { Placement.part($0, of: 2, horizontal: true, fits: true) }, bars: true)
        measureParts("grid 2x2", (0..<4).map { Placement.cell($0, columns: 2, rows: 2) })
        measureParts("grid 3x3", (0..<9).map { Placement.cell($0, columns: 3, rows: 3) })
    }

    private func measureParts(_ name: String, _ places: [Placement], bars: Bool = false) {
        let scalers = places.map { _ in Scaler() }
        measure(name) { pool, frame, canvas in
            if bars { canvas.fill(.black) }
            for (index, place) in places.enumerated() {
                scalers[index].draw(source(index, at: frame), at: place, on: &canvas)
            }
        }
    }

    func measureOverlays() {
        let (width, height) = (pool.width, pool.height)
        let title = OverlayImage(
            rgba: (0..<width * (height / 5) * 4).map { UInt8(truncatingIfNeeded: $0 * 7) }, width: width,
            height: height / 5, color: .bt709)
        measure("title over a fifth, in place", isDrawn: true) { pool, frame, canvas in
            title.draw(on: &canvas, x: 0, y: height * 3 / 4)
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

    private func measureInPlace(_ name: String, _ place: Placement) {
        let scaler = Scaler()
        measure(name, isDrawn: true) { pool, frame, canvas in
            scaler.draw(source(1, at: frame), at: place, on: &canvas)
        }
    }

    /// Prints a row of the table. Where the canvas `isDrawn`, it shows a frame before the clock starts.
    private func measure(_ name: String, isDrawn: Bool = false, _ draw: (FramePool, Int, inout Canvas) -> Void) {
        var times: [Int64] = []
        for frame in -10..<frames {
            var canvas = isDrawn ? pool.canvas(showing: source(0, at: frame + 240)) : pool.canvas()
            let start = Self.now()
            draw(pool, frame + 240, &canvas)
            if frame >= 0 { times.append(Self.now() - start) }
            _ = canvas.finish(pts: 0, timeBase: .milliseconds)
        }
        times.sort()
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
