// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// The encoder's counters for an operator. They only grow, so that two snapshots give rates.
package struct EncoderStatus: Sendable, Codable {
    /// Number of input frames.
    package var framesIn: Int64 = 0
    /// Number of output frames.
    package var framesOut: Int64 = 0
    /// Output bytes, both tracks.
    package var bytes: Int64 = 0
    /// Output bytes of audio.
    package var audioBytes: Int64 = 0
    /// Number of IDR frames in the output.
    package var keyframes = 0
    /// Number of requested IDR frames.
    package var forcedKeyframes = 0
    /// Number of video and audio frames that the encoders refused; they are missing in the output.
    package var refusedFrames: Int64 = 0
    /// CPU time that the program's thread spent in the encoders, in seconds.
    package var callerSeconds: Double = 0
    /// CPU time of x264's own threads, in seconds.
    package var threadSeconds: Double = 0
    /// CPU time of the whole process, in seconds.
    package var processSeconds: Double = 0
    /// Number of frames, or slices of one, that x264 encodes in parallel.
    package var threads = 1
    /// Number of CPU cores that this process may use.
    package var cores = 1

    package init() {}

    /// The factor by which the encoder could be faster than now: above 1 the program keeps up. 0 while nothing is
    /// known.
    ///
    /// `before` is an earlier snapshot, `programSeconds` the length of the program encoded since. At full speed, one
    /// second of the program takes the longest of three times:
    ///
    /// - the computing time of the program's thread (look-ahead and audio), which cannot be distributed;
    /// - the computing time of x264's threads, divided by how many of them can run at once: `min(threads, cores)`;
    /// - the computing time of the whole process, divided by the cores: decoding and sending use them too.
    ///
    /// All are CPU times, so waiting does not count: neither x264's for its own threads nor ours for a core that
    /// another program uses. The estimate ignores other programs' load, a control group's quota, and a clock that slows
    /// down when all cores are busy; and x264's threads sometimes wait for one another. Expect trouble below 1.2.
    package func speed(since before: EncoderStatus, programSeconds: Double) -> Double {
        let caller = callerSeconds - before.callerSeconds
        let workers = (threadSeconds - before.threadSeconds) / Double(max(1, min(threads, cores)))
        let process = (processSeconds - before.processSeconds) / Double(max(1, cores))
        let needed = max(caller, workers, process)
        return needed > 0 ? programSeconds / needed : 0
    }
}
