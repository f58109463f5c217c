// SPDX-License-Identifier: Apache-2.0

internal import Media

/// What the tables of one track come to. Times are in ticks of the track.
package struct TrackFacts: Sendable, Equatable {
    /// A year, in seconds: longer than any file may be.
    package static let longestTime: Int64 = 31_536_000

    /// Ticks a second.
    package var timescale: Int64
    /// Packets of audio, hidden ones included, or frames, without those that an edit list hides.
    package var samples: Int
    /// Ticks from the file's first frame to what the track shows first.
    package var offset: Int64
    /// Ticks that are shown or heard.
    package var shown: Int64
    /// How long most samples last.
    package var sampleDuration: Int64
    /// From the first sample that is shown to the last one.
    package var lastSample: Int64
    /// Ticks from the first sample that is shown to the first one that is missing before the end: what is decoded
    /// early is written early, and a file that ends suddenly may hold a frame without the one before it. Otherwise
    /// the same as ``shown``.
    package var whole: Int64
    /// Samples behind ``whole``.
    package var lateSamples: Int

    /// `ticks` in nanoseconds.
    package func nanoseconds(_ ticks: Int64) -> Int64 {
        TimeBase(1, Int32(clamping: timescale)).rescale(ticks, to: .nanoseconds)
    }
}
