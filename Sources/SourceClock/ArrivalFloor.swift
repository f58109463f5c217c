// SPDX-License-Identifier: Apache-2.0

/// The low edge of a source's delays (arrival minus stamp), which carries its sender's clock: queues only ever add to a
/// delay, so the earliest packets come when the sender's clock says (Fober, Orlarey, Letz: Real Time Clock Skew
/// Estimation over Network Delays, 2005).
///
/// The least delay of each bucket of time is kept, and the mean, up to 600 of them. The rate is a line through the least
/// delays of ten parts of that window, or through the means, whichever lie on theirs more closely: where queues come and go
/// it is the least ones; where a sender is uneven all the time it is the means, as of ffmpeg's `-re`, which looks each 10 ms
/// whether something is due: of one second the least delay is off by 1.5 ms there, and the mean by 0.5. Until there are enough
/// buckets the rate is guessed: what follows a rate that it takes for 0 lags 2.5 ms behind one of 200 ppm. All times and
/// delays are nanoseconds.
struct ArrivalFloor: Sendable {
    private struct Bucket {
        let index: Int64
        /// The least delay, and when that packet came.
        private(set) var delay: Int64
        private(set) var arrival: Int64
        /// What the sums count from.
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

        /// The sums over its packets against the least one of `origin`, and how many there are.
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

    /// The line of least squares through points: it goes through their mean.
    private struct Line {
        let time: Double
        let delay: Double
        let slope: Double
        /// The square of how far off the slope probably is.
        let variance: Double

        /// Nil for less than three points, and for those of one time. With `doubts` it is as if so many more points were as far
        /// off as delays of a second mostly are: a few may lie on a line by chance.
        init?(through points: [Point], doubts: Double = 0) {
            guard points.count > 2 else { return nil }
            let count = Double(points.count)
            let (time, delay) = (points.reduce(0) { $0 + $1.time } / count, points.reduce(0) { $0 + $1.delay } / count)
            let spread = points.reduce(0) { $0 + ($1.time - time) * ($1.time - time) }
            guard spread > 0 else { return nil }
            let slope = points.reduce(0) { $0 + ($1.time - time) * ($1.delay - delay) } / spread
            let rest = points.reduce(0) {
                let height = $1.delay - delay - slope * ($1.time - time)
                return $0 + height * height
            }
            (self.time, self.delay, self.slope) = (time, delay, slope)
            variance = (rest + doubts * ArrivalFloor.usualVariance) / (count - 2 + doubts) / spread
        }

        /// By how much `point` lies above the line, if that has the slope `slope`.
        func height(of point: Point, slope: Double) -> Double { point.delay - delay - slope * (point.time - time) }
    }

    private enum PathChange {
        case none
        case suspected
        /// From this point on.
        case found(Int)
    }

    private static let window = 600
    /// Buckets before the rate is known of which the least delay is the floor. Five lag 2.5 ms at 500 ppm; 30 would lag
    /// 15.
    private static let shortWindow = 5
    /// The same with a guess of the rate: one that is off by 200 ppm is off by 2 ms over these, and by 6 over 30.
    private static let guessedWindow = 10
    /// Buckets with which the rate is guessed.
    private static let leastForGuess = 8
    /// Buckets of which the lowest lies on the line, and three points at least: over so many no clock wanders.
    private static let lowWindow = 60
    /// How far senders' clocks usually are from ours.
    private static let usualRate = 200e-6
    /// The square of how far the mean of a second is usually off: 0.75 ms.
    private static let usualVariance = 0.75e6 * 0.75e6
    private static let highestRate = 1000e-6

    private let bucketLength: Int64
    private let bucketsForRate: Int
    private let pathStep: Double
    private var start: Int64?
    private var buckets: [Bucket] = []
    private var fitted: (arrival: Int64, delay: Int64)?
    /// The rate that was found, and what was guessed before: a guess never decides what belongs to a line.
    private var (found, guess) = (0.0, 0.0)

    /// How fast delays grow: negative for a sender whose clock runs faster than ours. 0, and then a guess, until it is known.
    var rate: Double { isRateKnown ? found : guess }
    /// Whether the rate was found, now or before ``restart()``.
    private(set) var isRateKnown = false

    /// A floor of buckets of `bucketLength` nanoseconds.
    init(bucketLength: Int64, bucketsForRate: Int, pathStep: Int64) {
        self.bucketLength = max(1, bucketLength)
        self.bucketsForRate = bucketsForRate
        self.pathStep = Double(pathStep)
    }

    /// How many buckets there are.
    var count: Int { buckets.count }

    /// The least delay to be expected at `arrival`; nil before the first packet.
    func delay(at arrival: Int64) -> Int64? {
        if let fitted { return fitted.delay &+ Int64(rate * Double(arrival &- fitted.arrival)) }
        return buckets.map(\.delay).min()
    }

    /// Takes in a packet. Arrivals must not go back. Returns whether the path turned out to have changed.
    mutating func note(delay: Int64, arrival: Int64) -> Bool {
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

    /// Forgets all delays and keeps the rate, until another is found.
    mutating func restart() {
        buckets = []
        fitted = nil
        start = nil
    }

    /// Adds to all delays: the track's stamps were moved.
    mutating func move(by step: Int64) {
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

    /// The floor before the rate is known: the least of the latest delays, without what a guess of the rate says.
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

    /// Least squares, drawn to 0 as far as the delays do not lie on a line: the mean of what they say and of what is usual,
    /// by the certainty of each.
    private static func guessedRate(from points: [Point], _ means: [Point]) -> Double {
        guard let line = closer(points, means, doubts: 4) else { return 0 }
        let usual = usualRate * usualRate
        return limited(line.slope * usual / (usual + line.variance))
    }

    /// The line through `points` or `means`, whose slope is the more certain one.
    private static func closer(_ points: [Point], _ means: [Point], doubts: Double = 0) -> Line? {
        [points, means].compactMap { Line(through: $0, doubts: doubts) }.min { $0.variance < $1.variance }
    }

    private static func limited(_ rate: Double) -> Double { min(highestRate, max(-highestRate, rate)) }

    /// The least delay of the buckets in `range`, but for the rate that was found, seen from `origin`.
    private func leastPoint(of range: Range<Int>, _ origin: Bucket) -> Point {
        var least = range.lowerBound
        for index in range where level(of: buckets[index], origin, found) < level(of: buckets[least], origin, found) {
            least = index
        }
        return Point(
            time: Double(buckets[least].arrival &- origin.arrival),
            delay: Double(buckets[least].delay &- origin.delay), index: least)
    }

    /// The mean of all packets in the buckets in `range`, seen from `origin`.
    private func meanPoint(of range: Range<Int>, _ origin: Bucket) -> Point {
        let sums = buckets[range].map { $0.sums(from: origin) }.reduce((time: 0.0, delay: 0.0, count: 0.0)) {
            ($0.time + $1.time, $0.delay + $1.delay, $0.count + $1.count)
        }
        return Point(time: sums.time / sums.count, delay: sums.delay / sums.count, index: range.lowerBound)
    }

    /// The delay of `bucket` without `rate`, against `origin`.
    private func level(of bucket: Bucket, _ origin: Bucket, _ rate: Double) -> Double {
        Double(bucket.delay &- origin.delay) - rate * Double(bucket.arrival &- origin.arrival)
    }

    /// About ten parts of the first `complete` buckets.
    private func parts(of complete: Int) -> [Range<Int>] {
        let length = max(1, complete / 10)
        return stride(from: complete % length, to: complete, by: length).map { $0..<min($0 + length, complete) }
    }

    /// Whether the floor lies elsewhere from some point on: it steps by more than the settings allow and by more than
    /// six times what its steps mostly differ. Without this a path that grew by 80 ms looks like 237 ppm for ten
    /// minutes. One point that is off may be a moment of congestion: until the next one is known the line stays as it
    /// is.
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

    /// Least squares for the rate; the line lies on the lowest of the latest points.
    private mutating func fitLine(through points: [Point], means: [Point], _ complete: Int, _ origin: Bucket) {
        guard let line = Self.closer(points, means) else { return }
        found = Self.limited(line.slope)
        isRateKnown = true
        let latest = points.count { complete - $0.index <= Self.lowWindow }
        let lowest = points.suffix(max(3, latest)).map { line.height(of: $0, slope: found) }.min() ?? 0
        fitted = (origin.arrival &+ Int64(line.time), origin.delay &+ Int64(line.delay + lowest))
    }
}
