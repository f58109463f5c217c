// SPDX-License-Identifier: Apache-2.0

package import Archive

/// The settings of a recorder.
package struct RecorderConfiguration: Sendable {
    /// The directory for the files.
    package var directory: RecordDirectory
    /// The channel's name. It is stored in each file, and the standard names of files begin with it.
    package var channel: String
    /// The length of a file; nil if files end only on request, and where the coding changes.
    package var length: SegmentLength?
    /// The media time in one fragment. A crash loses little more than this.
    package var fragmentDuration: Duration
    /// The maximum size of the queue, in bytes of payload; the queue fills while the disk is too slow.
    package var queueLimitBytes: Int
    /// When program time 0 was on air. Nil means that the recorder computes it from the arrival of the first packet,
    /// which the encoder has delayed.
    package var programStart: UTCTime?
    /// A start time that several recorders share, so that they name their files by the same time; nil for a single
    /// recorder.
    package var epoch: ProgramEpoch?
    /// Identifies this recorder's files as parts of one program; nil means that the recorder chooses a new identifier.
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
    /// The encoder's delay: how much later than its program time a packet of a live program arrives.
    package var encoderDelay = Duration.zero
    /// The longest expected time between two keyframes.
    package var gop = Duration.seconds(2)
    /// Whether the packets were encoded elsewhere, so that keyframes cannot be requested. A file can then begin at any
    /// frame: it also contains the packets from the keyframe before that frame, but hidden. Such files end at
    /// ``Recorder/cut(at:)``.
    package var isCopied = false
    /// The number of bytes that the queue can hold without taking memory from ``queues``. Memory for all further bytes
    /// is taken from ``queues``.
    package var ownQueueBytes = 8 << 20
    /// The memory that the queues of all recorders of the process share.
    package var queues = QueueBudget()
    /// The maximum size of a file in bytes, unless its file system or the process has a lower limit; nil means that
    /// only those limits apply.
    package var largestFileBytes: Int64?
    /// The objects that are informed of files and gaps.
    package var observers: [any RecordingObserver]

    /// Creates a configuration with the usual fragments (500 ms) and queue limit (256 MiB).
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

/// Is informed of the files and gaps of a recorder; implemented for example by a catalogue or an uploader. The methods
/// are called on the queues of the recorder, of the closer and of retention, and must not block.
package protocol RecordingObserver: AnyObject, Sendable {
    /// The recorder has created the file `fileName`, which has its name for open files.
    func segmentOpened(fileName: String)
    /// A file has its final name and is complete.
    func segmentFinished(_ record: SegmentRecord)
    /// The file `fileName`, which a crash or a failed close had left open, is complete now. The content must be read
    /// from the file itself.
    func segmentRecovered(fileName: String)
    /// A gap has ended; `from` and `to` are program times, `start` is the wall-clock time of `from`.
    func gapEnded(_ gap: RecordingGap, channel: String, start: UTCTime)
    /// Retention deleted the finished file `fileName`.
    func segmentDeleted(fileName: String)
    /// Another disk, which can contain other recordings, was mounted in place of the directory's disk.
    func directoryChanged()
}

extension RecordingObserver {
    package func segmentOpened(fileName: String) {}
    package func segmentDeleted(fileName: String) {}
    package func directoryChanged() {}
}
