// SPDX-License-Identifier: Apache-2.0

internal import Media

/// A summary of one track's tables. Times are in ticks of the track.
package struct TrackFacts: Sendable, Equatable {
    /// A year, in seconds: longer than any recording.
    package static let longestTime: Int64 = 31_536_000

    /// Ticks per second.
    package var timescale: Int64
    /// Number of audio packets, including hidden ones; or number of frames that an edit list does not hide.
    package var samples: Int
    /// Ticks from the file's first frame to the track's first visible sample.
    package var offset: Int64
    /// Number of visible ticks.
    package var shown: Int64
    /// The most frequent sample duration.
    package var sampleDuration: Int64
    /// Ticks from the first visible sample to the last one.
    package var lastSample: Int64
    /// Ticks from the first visible sample to the first missing sample near the end; equal to ``shown`` if no sample is
    /// missing. Frames are written in decoding order, so a file that ends suddenly may lack a frame that is shown
    /// before its last frame.
    package var whole: Int64
    /// Number of samples after ``whole``.
    package var lateSamples: Int

    /// `ticks` in nanoseconds.
    package func nanoseconds(_ ticks: Int64) -> Int64 {
        TimeBase(1, Int32(clamping: timescale)).rescale(ticks, to: .nanoseconds)
    }
}
