// SPDX-License-Identifier: Apache-2.0

internal import Media

/// The floor: the lower bound of a source's delays, as a function of time. A packet's delay is its arrival minus its
/// timestamp. The floor reveals the rate of the sender's clock, because queues only add to a delay: the packets with
/// the smallest delay waited in no queue (Fober, Orlarey, Letz: Real Time Clock Skew Estimation over Network Delays,
/// 2005).
///
/// Time is divided into intervals of equal length, called buckets. The floor keeps the minimum and the mean delay of
/// each of the last 600 buckets that contain a packet. To find the rate, these buckets are divided into about ten
/// parts. One line is fitted to the minimum delays of the parts, and another line to their mean delays; parts in the
/// middle of the time count most. The rate is the slope of the line that fits better. The minimum is better if queues
/// build up only sometimes. The mean is better if the sender always sends unevenly. An example is ffmpeg's `-re`, which
/// checks every 10 ms whether a packet is due: the minimum delay of one second is then off by 1.5 ms, the mean only by
/// 0.5 ms. While there are too few buckets for such lines, the floor uses a rough estimate of the rate. Without this
/// estimate it would assume a rate of 0, and at a real rate of 500 ppm it would lag by 2.5 ms. Inside, all times and
/// delays are nanoseconds.
struct ArrivalFloor: Sendable {
    private struct Bucket {
        let index: Int64
        /// The minimum delay in this bucket, and the arrival of the packet that had this delay.
        private(set) var delay: Int64
        private(set) var arrival: Int64
        /// The delay and the arrival of the bucket's first packet. The values in `sums` are relative to these two.
        private var first: (delay: Int64, arrival: Int64)
        private var count = 1.0
        private var sums = (delay: 0.0, arrival: 0.0)

        init(index: Int64, delay: Int64, arrival: Int64) {
            (self.index, self.delay, self.arrival, first) = (index, delay, arrival, (delay, arrival))
        }

        mutating func note(delay: Int64, arrival: Int64) {
            count += 1
            sums.delay += Double(delay &- first.delay)
            sums.arrival += Double(arrival &- first.arrival)
            if delay < self.delay { (self.delay, self.arrival) = (delay, arrival) }
        }

        mutating func move(by step: Int64) {
            delay &+= step
            first.delay &+= step
        }

        /// The sums of the arrivals and of the delays of the bucket's packets, relative to the packet with the minimum
        /// delay in `origin`; and the number of packets.
        func sums(from origin: Bucket) -> (time: Double, delay: Double, count: Double) {
            (
                Double(first.arrival &- origin.arrival) * count + sums.arrival,
                Double(first.delay &- origin.delay) * count + sums.delay, count
            )
        }
    }

    private struct Point {
        var time: Double
        var delay: Double
        var index: Int
    }

    /// A line fitted to points by weighted least squares. It passes through the weighted mean of the points.
    private struct Line {
        let time: Double
        let delay: Double
        let slope: Double
        /// The estimated variance of the slope.
        let variance: Double

        /// Fits a line; nil for fewer than three points, or if all points have the same time. Point number i has the
        /// weight `weights[i]`. Few points may lie on a line by chance, which would make the variance too small.
        /// Therefore the variance counts `doubts` additional points, each with the usual error of a delay.
        init?(through points: [Point], weights: [Double], doubts: Double = 0) {
            guard points.count > 2 else { return nil }
            let count = Double(points.count)
            let whole = weights.reduce(0, +)
            func mean(_ value: (Point) -> Double) -> Double {
                zip(points, weights).reduce(0) { $0 + $1.1 * value($1.0) } / whole
            }
            let (time, delay) = (mean(\.time), mean(\.delay))
            let spread = mean { ($0.time - time) * ($0.time - time) }
            guard spread > 0 else { return nil }
            let slope = mean { ($0.time - time) * ($0.delay - delay) } / spread
            let rest = mean {
                let height = $0.delay - delay - slope * ($0.time - time)
                return height * height
            }
            (self.time, self.delay, self.slope) = (time, delay, slope)
            variance = (rest * count + doubts * ArrivalFloor.usualVariance) / (count - 2 + doubts) / (spread * count)
        }

        /// The distance of `point` above a line that passes through the weighted mean of this line's points and has the
        /// slope `slope`.
        func height(of point: Point, slope: Double) -> Double { point.delay - delay - slope * (point.time - time) }
    }

    private enum PathChange {
        case none
        case suspected
        /// The delay of the network path changed by a step before the point with this index.
        case found(Int)
    }

    private static let window = 600
    /// While there is neither a measured rate nor a rough estimate, the floor is the minimum delay of this many
    /// buckets. The same holds after ``restart()`` with a measured rate. With a rate of 500 ppm that is not yet known,
    /// 5 buckets make the floor lag by 2.5 ms; 30 buckets would make it lag by 15 ms.
    private static let shortWindow = 5
    /// As soon as there is a rough estimate of the rate, the floor is the minimum delay of this many buckets instead.
    /// If the estimate is off by 200 ppm, 10 buckets make an error of 2 ms; 30 buckets would make an error of 6 ms.
    private static let guessedWindow = 10
    /// The minimum number of buckets for a rough estimate of the rate.
    private static let leastForGuess = 8
    /// The fitted line is moved so that it passes through the lowest point of the last 60 buckets, and of at least the
    /// last three points. A clock's rate does not change noticeably in so short a time.
    private static let lowWindow = 60
    /// The usual difference between the rate of a sender's clock and the rate of our clock, as a fraction: 200 ppm.
    private static let usualRate = 200e-6
    /// The usual variance of the mean delay of one second, in square nanoseconds: the standard deviation is 0.75 ms.
    private static let usualVariance = 0.75e6 * 0.75e6
    private static let highestRate = 1000e-6

    private let bucketLength: Int64
    private let bucketsForRate: Int
    private let pathStep: Double
    private var start: Int64?
    private var buckets: [Bucket] = []
    private var fitted: (arrival: Int64, delay: Int64)?
    /// The measured rate, and the rough estimate that is used until a rate has been measured. Only the measured rate is
    /// used to select the points of a line.
    private var (found, guess) = (0.0, 0.0)

    /// By how much the delays grow per unit of time. Negative if the sender's clock is faster than ours. Until the rate
    /// is known, this is first 0 and then a rough estimate.
    var rate: Double { isRateKnown ? found : guess }
    /// Whether the rate has been measured, since the last ``restart()`` or before it.
    private(set) var isRateKnown = false

    /// Creates a floor with buckets of the length `bucketLength`.
    init(bucketLength: Duration, bucketsForRate: Int, pathStep: Duration) {
        self.bucketLength = max(1, bucketLength.inNanoseconds)
        self.bucketsForRate = bucketsForRate
        self.pathStep = Double(pathStep.inNanoseconds)
    }

    /// The number of buckets that are kept at present.
    var count: Int { buckets.count }

    /// The floor at the moment `arrival`: the smallest delay to expect of a packet that arrives then; nil while no
    /// packet is recorded.
    func delay(at arrival: MonotonicInstant) -> Duration? {
        if let fitted {
            let slant = Int64(rate * Double(arrival.nanoseconds &- fitted.arrival))
            return .nanoseconds(fitted.delay &+ slant)
        }
        return buckets.map(\.delay).min().map { .nanoseconds($0) }
    }

    /// Records a packet. Arrivals must not decrease. Returns true if the delay of the network path has changed by a
    /// step.
    mutating func note(delay: Duration, arrival: MonotonicInstant) -> Bool {
        let (delay, arrival) = (delay.inNanoseconds, arrival.nanoseconds)
        let start = self.start ?? arrival
        self.start = start
        let index = (arrival &- start) / bucketLength
        if let last = buckets.last, last.index == index {
            buckets[buckets.count - 1].note(delay: delay, arrival: arrival)
            return false
        }
        buckets.append(Bucket(index: index, delay: delay, arrival: arrival))
        if buckets.count > Self.window { buckets.removeFirst(buckets.count - Self.window) }
        return fit()
    }

    /// Discards all delays. Keeps the rate until a new rate has been measured.
    mutating func restart() {
        buckets = []
        fitted = nil
        start = nil
    }

    /// Adds `step` to all recorded delays, because the track's timestamps were shifted.
    mutating func move(by step: Duration) {
        let step = step.inNanoseconds
        for index in buckets.indices { buckets[index].move(by: step) }
        if let old = fitted { fitted = (old.arrival, old.delay &+ step) }
    }

    private mutating func fit() -> Bool {
        let complete = buckets.count - 1
        guard complete >= 2 else { return false }
        guard complete >= bucketsForRate else {
            fitGuess(to: buckets[..<complete])
            return false
        }
        let origin = buckets[0]
        let parts = parts(of: complete)
        let points = parts.map { leastPoint(of: $0, origin) }
        switch pathChange(in: points) {
        case .none:
            fitLine(through: points, means: parts.map { meanPoint(of: $0, origin) }, complete, origin)
            return false
        case .suspected:
            return false
        case .found(let cut):
            let last = points[points.count - 1]
            fitted = (origin.arrival &+ Int64(last.time), origin.delay &+ Int64(last.delay))
            buckets.removeFirst(points[cut].index)
            return true
        }
    }

    /// While there are too few buckets to measure the rate, sets the floor to the minimum of the latest delays. Delays
    /// are compared after correction by the present value of ``rate``.
    private mutating func fitGuess(to complete: ArraySlice<Bucket>) {
        var window = Self.shortWindow
        if !isRateKnown, complete.count >= Self.leastForGuess {
            guess = Self.guessedRate(
                from: complete.indices.map { leastPoint(of: $0..<$0 + 1, buckets[0]) },
                complete.indices.map { meanPoint(of: $0..<$0 + 1, buckets[0]) })
            window = Self.guessedWindow
        }
        let (origin, rate) = (complete[complete.startIndex], rate)
        let least =
            complete.suffix(window).min { level(of: $0, origin, rate) < level(of: $1, origin, rate) } ?? origin
        fitted = (least.arrival, least.delay)
    }

    /// A rough estimate of the rate: the slope of a least-squares line, regularized towards 0. It is the mean of that
    /// slope and 0, each weighted by the inverse of its variance.
    private static func guessedRate(from points: [Point], _ means: [Point]) -> Double {
        let equal = [Double](repeating: 1, count: points.count)
        guard let line = closer(points, means, weights: equal, doubts: 4) else { return 0 }
        let usual = usualRate * usualRate
        return limited(line.slope * usual / (usual + line.variance))
    }

    /// The better of two lines, one through `points` and one through `means`: the line whose slope has the smaller
    /// variance.
    private static func closer(_ points: [Point], _ means: [Point], weights: [Double], doubts: Double = 0) -> Line? {
        [points, means].compactMap { Line(through: $0, weights: weights, doubts: doubts) }
            .min { $0.variance < $1.variance }
    }

    private static func limited(_ rate: Double) -> Double { min(highestRate, max(-highestRate, rate)) }

    /// The packet with the smallest delay in the buckets of `range`, as a point relative to `origin`. Delays are
    /// compared after correction by the measured rate.
    private func leastPoint(of range: Range<Int>, _ origin: Bucket) -> Point {
        var least = range.lowerBound
        for index in range where level(of: buckets[index], origin, found) < level(of: buckets[least], origin, found) {
            least = index
        }
        return Point(
            time: Double(buckets[least].arrival &- origin.arrival),
            delay: Double(buckets[least].delay &- origin.delay), index: least)
    }

    /// The mean time and delay of all packets in the buckets of `range`, as a point relative to `origin`.
    private func meanPoint(of range: Range<Int>, _ origin: Bucket) -> Point {
        var sums = (time: 0.0, delay: 0.0, count: 0.0)
        for bucket in buckets[range] {
            let own = bucket.sums(from: origin)
            sums.time += own.time
            sums.delay += own.delay
            sums.count += own.count
        }
        return Point(time: sums.time / sums.count, delay: sums.delay / sums.count, index: range.lowerBound)
    }

    /// The minimum delay of `bucket` relative to the minimum delay of `origin`, corrected by `rate`.
    private func level(of bucket: Bucket, _ origin: Bucket, _ rate: Double) -> Double {
        Double(bucket.delay &- origin.delay) - rate * Double(bucket.arrival &- origin.arrival)
    }

    /// Divides the first `complete` buckets into parts of equal length: ten if there are many buckets, up to 19 if
    /// there are few. The oldest buckets are left out if they do not fill a part.
    private func parts(of complete: Int) -> [Range<Int>] {
        let length = max(1, complete / 10)
        return stride(from: complete % length, to: complete, by: length).map { $0..<min($0 + length, complete) }
    }

    /// Detects a step of the floor between two neighboring points. The difference of their delays, corrected by the
    /// measured rate, must deviate from the median difference by more than ``SourceClockSettings/pathStep``, and by
    /// more than six times the median deviation. Without this check, a path whose delay grows by 80 ms at once would
    /// look like a clock rate of 237 ppm for ten minutes. If only the last point deviates, the cause may be congestion.
    /// The result is then `suspected`, and the floor is not fitted again before the next point is known.
    private func pathChange(in points: [Point]) -> PathChange {
        var steps: [Double] = []
        for (left, right) in zip(points, points.dropFirst()) {
            steps.append(right.delay - left.delay - found * (right.time - left.time))
        }
        let median = steps.sorted()[steps.count / 2]
        let deviation = steps.map { abs($0 - median) }.sorted()[steps.count / 2]
        let bar = max(pathStep, 6 * deviation)
        for index in steps.indices.reversed() where abs(steps[index] - median) > bar {
            return points.count - index > 2 ? .found(index + 1) : .suspected
        }
        return .none
    }

    /// The weights of the parts: a parabola that is almost 0 at both ends of the window and greatest in its middle.
    ///
    /// The delay of a radio link can rise and fall by 10 ms within minutes. With equal weights, the parts at the ends
    /// have the greatest influence on the slope: a sine of amplitude a and angular frequency w bends a line over the
    /// time T by up to 12a/(wT²), which is 8 ppm for 5 ms and 300 s in a window of 600 s. This is no chance error: it
    /// returns in each period. With these weights, the influence grows and fades smoothly over the window, and the sine
    /// bends the line by up to 3 ppm. A noise without memory disturbs the slope 1.2 times as much as with equal weights,
    /// which is 0.8 ppm over Wi-Fi.
    private static func weights(of count: Int) -> [Double] {
        (0..<count).map { (Double($0) + 0.5) * (Double(count - $0) - 0.5) }
    }

    /// Measures the rate by weighted least squares. The floor becomes a line that has this rate as its slope and passes
    /// through the lowest of the latest points.
    private mutating func fitLine(through points: [Point], means: [Point], _ complete: Int, _ origin: Bucket) {
        let weights = Self.weights(of: points.count)
        guard let line = Self.closer(points, means, weights: weights) else { return }
        found = Self.limited(line.slope)
        isRateKnown = true
        let latest = points.count { complete - $0.index <= Self.lowWindow }
        let lowest = points.suffix(max(3, latest)).map { line.height(of: $0, slope: found) }.min() ?? 0
        fitted = (origin.arrival &+ Int64(line.time), origin.delay &+ Int64(line.delay + lowest))
    }
}
