// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// What an operator sees of the encoder: counters that only grow, so that two snapshots give rates.
package struct EncoderStatus: Sendable, Codable {
    /// Frames that went in.
    package var framesIn: Int64 = 0
    /// Coded frames that came out.
    package var framesOut: Int64 = 0
    /// Coded bytes, both tracks.
    package var bytes: Int64 = 0
    /// Coded bytes of audio among them.
    package var audioBytes: Int64 = 0
    /// IDR frames among those that came out.
    package var keyframes = 0
    /// IDR frames that somebody asked for.
    package var forcedKeyframes = 0
    /// Frames of video and of audio that the encoders refused; they are missing from what came out.
    package var refusedFrames: Int64 = 0
    /// CPU time that the program's thread spent in the encoders, in seconds.
    package var callerSeconds: Double = 0
    /// CPU time of x264's own threads, in seconds.
    package var threadSeconds: Double = 0
    /// CPU time of the whole process, in seconds.
    package var processSeconds: Double = 0
    /// How many frames, or parts of one, x264 codes at the same time.
    package var threads = 1
    /// How many CPU cores this process may use.
    package var cores = 1

    /// Nothing encoded yet.
    package init() {}

    /// How many times faster than now the encoder could go, had it to: the program keeps up above 1. 0 while nothing is
    /// known.
    ///
    /// `before` is an earlier snapshot, `programSeconds` the length of the program encoded since. For one second of the
    /// program the encoder needs, flat out, the longest of three times:
    ///
    /// - what the program's thread computes itself (look-ahead and audio), which nothing can take over;
    /// - what x264's threads compute, divided by how many of them can run at once: `min(threads, cores)`;
    /// - what the whole process computes, divided by the cores: decoding and sending take their share of them.
    ///
    /// All are CPU times, so waiting counts for nothing: neither x264's for its own threads nor ours for a core that
    /// another program has. What other programs take, a quota of a control group, and a clock that slows down when all
    /// cores are busy are not foreseen, and x264's threads wait for one another now and then: below 1.2 expect trouble.
    package func speed(since before: EncoderStatus, programSeconds: Double) -> Double {
        let caller = callerSeconds - before.callerSeconds
        let workers = (threadSeconds - before.threadSeconds) / Double(max(1, min(threads, cores)))
        let process = (processSeconds - before.processSeconds) / Double(max(1, cores))
        let needed = max(caller, workers, process)
        return needed > 0 ? programSeconds / needed : 0
    }
}
