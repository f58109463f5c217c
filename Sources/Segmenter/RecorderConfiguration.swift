// SPDX-License-Identifier: Apache-2.0

package import Archive

/// What a recorder is to do.
package struct RecorderConfiguration: Sendable {
    /// Where files go.
    package var directory: RecordDirectory
    /// The channel's name, the beginning of each file's.
    package var channel: String
    /// How long a file is; nil where files end by ``Recorder/cut(at:)`` alone.
    package var length: SegmentLength?
    /// How much media time a crash may cost at most.
    package var fragmentDuration: Duration
    /// Payload bytes that may wait while the disk does not take them.
    package var queueLimitBytes: Int
    /// When the program's time 0 was on air. Without it, it is computed from the arrival of the first packet, which is
    /// late by the encoder's delay.
    package var programStart: UTCTime?
    /// Where several recorders name their files by the same time.
    package var epoch: ProgramEpoch?
    /// Names this recorder's files as parts of one program; nil for a name of its own.
    package var run: String?
    /// The program's version, which each file names as its maker's.
    package var version: String
    /// What kind of files.
    package var format = RecordFormat.hybrid
    /// When what was written is made durable.
    package var sync = SyncPolicy.standard
    /// Whether files end where the wall clock shows multiples of their length. The length must divide a day.
    package var isClockAligned = false
    /// How many seconds local time is ahead of UTC, for names and for cuts by the wall clock.
    package var localOffset: WallClockGrid.Offset = { _ in 0 }
    /// How long packets are under way in the encoder, for a live program.
    package var encoderDelay = Duration.zero
    /// The longest time between two keyframes that is expected.
    package var gop = Duration.seconds(2)
    /// Whether what is recorded comes from another encoder, whose keyframes come when they come: a file begins with the
    /// keyframe before its beginning, hidden, and is cut at any frame. Files end where ``Recorder/cut(at:)`` says.
    package var isCopied = false
    /// The objects that are told of finished files and gaps.
    package var observers: [any RecordingObserver]

    /// A configuration with the usual fragments (500 ms) and bound (256 MiB).
    package init(
        directory: RecordDirectory, channel: String, length: SegmentLength?,
        fragmentDuration: Duration = .milliseconds(500), queueLimitBytes: Int = 256 << 20,
        programStart: UTCTime? = nil, version: String = "", observers: [any RecordingObserver] = []
    ) {
        self.directory = directory
        self.channel = channel
        self.length = length
        self.fragmentDuration = fragmentDuration
        self.queueLimitBytes = queueLimitBytes
        self.programStart = programStart
        self.version = version
        self.observers = observers
    }
}
