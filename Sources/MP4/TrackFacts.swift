// SPDX-License-Identifier: Apache-2.0

internal import Media

/// A summary of one track's sample table. Times are in ticks of the track.
package struct TrackFacts: Sendable, Equatable {
    /// The longest accepted time: a year, in seconds. No recording is longer.
    package static let longestTime: Int64 = 31_536_000

    /// The number of ticks per second.
    package var timescale: Int64
    /// For audio the number of packets, including hidden ones. For video the number of frames that the edit list does
    /// not hide.
    package var samples: Int
    /// The ticks from the file's first frame to the track's first visible sample.
    package var offset: Int64
    /// The duration of the visible part, in ticks.
    package var shown: Int64
    /// The sample duration that occurs most often, in ticks.
    package var sampleDuration: Int64
    /// The ticks from the first visible sample to the beginning of the last one.
    package var lastSample: Int64
    /// The ticks from the first visible sample to the first missing one near the end; equal to ``shown`` if none is
    /// missing. Frames are written in decoding order. A file that ends suddenly may therefore lack a frame that is
    /// shown before the file's last frame.
    package var whole: Int64
    /// The number of samples that are shown after ``whole``.
    package var lateSamples: Int

    /// Converts `ticks` of the track to nanoseconds.
    package func nanoseconds(_ ticks: Int64) -> Int64 {
        TimeBase(1, Int32(clamping: timescale)).rescale(ticks, to: .nanoseconds)
    }
}
