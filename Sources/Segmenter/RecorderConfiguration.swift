// SPDX-License-Identifier: Apache-2.0

package import Archive

/// The settings of a recorder.
package struct RecorderConfiguration: Sendable {
    /// The directory for the files.
    package var directory: RecordDirectory
    /// The channel's name; each file name begins with it.
    package var channel: String
    /// How long a file is; nil if files end only at ``Recorder/cut(at:)``.
    package var length: SegmentLength?
    /// The maximum media time that is lost in a crash.
    package var fragmentDuration: Duration
    /// The maximum size of the queue, in bytes of payload; the queue fills while the disk is too slow.
    package var queueLimitBytes: Int
    /// When program time 0 was on air. Nil means that this is computed from the arrival of the first packet, which the
    /// encoder delays.
    package var programStart: UTCTime?
    /// A shared start time, if several recorders name their files by the same time.
    package var epoch: ProgramEpoch?
    /// Identifies this recorder's files as parts of one program; nil to choose a new identifier.
    package var run: String?
    /// The version of relay, which is written to each file.
    package var version: String
    /// The format of the files.
    package var format = RecordFormat.hybrid
    /// When written data is made durable.
    package var sync = SyncPolicy.standard
    /// Whether files end at wall-clock multiples of their length. The length must divide a day into equal parts.
    package var isClockAligned = false
    /// The local time's offset from UTC in seconds, for names and for cuts by the wall clock.
    package var localOffset: WallClockGrid.Offset = { _ in 0 }
    /// The encoder's delay, for a live program.
    package var encoderDelay = Duration.zero
    /// The longest expected time between two keyframes.
    package var gop = Duration.seconds(2)
    /// Whether another encoder made the packets, so that keyframes cannot be requested. A file can then begin at any
    /// frame: the packets from the keyframe before that frame are in the file, but hidden. Files end at
    /// ``Recorder/cut(at:)``.
    package var isCopied = false
    /// How many bytes the queue can hold without ``queues``; all further bytes are taken from there.
    package var ownQueueBytes = 8 << 20
    /// The memory that the queues of all recorders of the process share.
    package var queues = QueueBudget()
    /// The maximum size of a file in bytes, unless its file system or the process has a lower limit; nil means that
    /// only those limits apply.
    package var largestFileBytes: Int64?
    /// The objects that are informed of finished files and gaps.
    package var observers: [any RecordingObserver]

    /// A configuration with the usual fragments (500 ms) and queue limit (256 MiB).
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

/// Is informed of what a recorder did; implemented for example by a catalogue or an uploader. The methods are called on
/// the recorder's and the closer's queues and must not block.
package protocol RecordingObserver: AnyObject, Sendable {
    /// The recorder has created the file `fileName`, which has its name for open files.
    func segmentOpened(fileName: String)
    /// A file has its final name and is complete.
    func segmentFinished(_ record: SegmentRecord)
    /// The file `fileName`, which a crash or a failed close left open, is complete now; its content must be read from
    /// the file.
    func segmentRecovered(fileName: String)
    /// A gap has ended; `from` and `to` are program times, `start` is the wall-clock time of `from`.
    func gapEnded(_ gap: RecordingGap, channel: String, start: UTCTime)
    /// Retention deleted the finished file `fileName`.
    func segmentDeleted(fileName: String)
}

extension RecordingObserver {
    package func segmentOpened(fileName: String) {}
    package func segmentDeleted(fileName: String) {}
}
