// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// The encoder's counters for an operator. They do not decrease, so the difference between two snapshots divided by the
/// time between them is a rate.
package struct EncoderStatus: Sendable, Codable {
    /// Number of input frames.
    package var framesIn: Int64 = 0
    /// Number of output frames.
    package var framesOut: Int64 = 0
    /// Output bytes of both tracks.
    package var bytes: Int64 = 0
    /// Output bytes of audio.
    package var audioBytes: Int64 = 0
    /// Number of IDR frames in the output.
    package var keyframes = 0
    /// Number of input frames that x264 has encoded as IDR frames because of a request. If it refuses such a frame, the
    /// next frame is encoded as an IDR frame instead, and counted.
    package var forcedKeyframes = 0
    /// Number of video and audio frames that the encoders refused; these frames are missing from the output.
    package var refusedFrames: Int64 = 0
    /// CPU time that the calling thread, such as the program's, has spent in the encoders, in seconds.
    package var callerSeconds: Double = 0
    /// CPU time of x264's own threads, in seconds, including those of broken sessions that were replaced.
    package var threadSeconds: Double = 0
    /// CPU time of the whole process, in seconds.
    package var processSeconds: Double = 0
    /// Number of frames, or slices of one frame, that x264 encodes in parallel.
    package var threads = 1
    /// Number of CPU cores that this process can use.
    package var cores = 1

    package init() {}

    /// Returns how many seconds of the program the encoder could encode in one second at full speed. Above 1, the
    /// encoder keeps up with the program. Returns 0 while nothing is known.
    ///
    /// `before` is an earlier snapshot, and `programSeconds` is the length of the program that was encoded since then.
    /// At full speed, one second of the program takes as long as the longest of three times:
    ///
    /// - the computing time of the program's thread (look-ahead and audio), which cannot be distributed;
    /// - the computing time of x264's threads, divided by how many of them can run at once: `min(threads, cores)`;
    /// - the computing time of the whole process, divided by the cores, because decoding and sending use them too.
    ///
    /// All times are CPU times, so waiting does not count, neither when x264 waits for its own threads nor when a
    /// thread waits for a core that another program uses. The estimate ignores the load of other programs, the quota of
    /// a control group, and that a processor's clock becomes slower when all cores are busy. It also ignores that
    /// x264's threads sometimes wait for one another. Expect trouble below 1.2.
    package func speed(since before: EncoderStatus, programSeconds: Double) -> Double {
        let caller = callerSeconds - before.callerSeconds
        let workers = (threadSeconds - before.threadSeconds) / Double(max(1, min(threads, cores)))
        let process = (processSeconds - before.processSeconds) / Double(max(1, cores))
        let needed = max(caller, workers, process)
        return needed > 0 ? programSeconds / needed : 0
    }
}
