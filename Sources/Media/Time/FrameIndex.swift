// SPDX-License-Identifier: Apache-2.0

/// The number of a frame of a program at its constant rate; the program's first frame is 0.
package struct FrameIndex: Sendable, Hashable, Comparable, ExpressibleByIntegerLiteral {
    /// The number of the frame; negative for frames before the program's first one.
    package var number: Int64

    /// Frame `number`.
    package init(_ number: Int64) { self.number = number }

    package init(integerLiteral number: Int64) { self.number = number }

    /// The frame `count` frames later.
    package static func + (index: FrameIndex, count: Int64) -> FrameIndex { FrameIndex(index.number + count) }

    /// The frame `count` frames earlier.
    package static func - (index: FrameIndex, count: Int64) -> FrameIndex { FrameIndex(index.number - count) }

    /// The number of frames from the right index to the left one.
    package static func - (later: FrameIndex, earlier: FrameIndex) -> Int64 { later.number - earlier.number }

    package static func < (left: FrameIndex, right: FrameIndex) -> Bool { left.number < right.number }
}

extension FrameRate {
    /// The frame that begins nearest to `moment` of the program. With `rounding` up, it is the first frame that begins
    /// at or after `moment`; with `rounding` down, the last frame that begins at or before it.
    package func frame(at moment: ProgramInstant, rounding: TimeBase.Rounding = .nearest) -> FrameIndex {
        FrameIndex(TimeBase.nanoseconds.rescale(moment.nanoseconds, to: timeBase, rounding: rounding))
    }

    /// The time at which frame `index` of the program begins, to the nanosecond.
    package func start(of index: FrameIndex, rounding: TimeBase.Rounding = .nearest) -> ProgramInstant {
        ProgramInstant(nanoseconds: timeBase.rescale(index.number, to: .nanoseconds, rounding: rounding))
    }
}

/// The number of a sample of a program's audio at its constant rate; the program's first sample is 0.
package struct SampleIndex: Sendable, Hashable, Comparable, ExpressibleByIntegerLiteral {
    /// The number of the sample; negative for samples before the program's first one.
    package var number: Int64

    /// Sample `number`.
    package init(_ number: Int64) { self.number = number }

    package init(integerLiteral number: Int64) { self.number = number }

    /// The number of samples from the right index to the left one.
    package static func - (later: SampleIndex, earlier: SampleIndex) -> Int64 { later.number - earlier.number }

    package static func < (left: SampleIndex, right: SampleIndex) -> Bool { left.number < right.number }
}
