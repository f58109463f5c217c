// SPDX-License-Identifier: Apache-2.0

public import Media

/// One place that media comes from, opened and ready to deliver.
public protocol MediaSource: AnyObject, Sendable {
    /// What the source turned out to be when it was opened.
    var description: SourceDescription { get }
    /// Begins to deliver into `sink`, on a thread of the source's own, in these formats; nil means that the track is
    /// not wanted. Only the first call counts.
    func start(into sink: any SourceSink, video: VideoFormat?, audio: AudioFormat?)
    /// Ends delivery, and blocking reads with it. Returns at once; may be called on any thread, any number of times.
    /// A delivery that has begun may still arrive.
    func stop()
    /// What the source is doing. May be read on any thread.
    var status: SourceStatus { get }
}

/// What a source is doing: a snapshot.
public struct SourceStatus: Sendable, Codable, Hashable {
    /// The stages of a source's life.
    public enum State: String, Sendable, Codable {
        /// Opened, not started; or a live source or a loop that is being opened again.
        case opening
        /// Reading and decoding.
        case running
        /// A live source, or a loop that failed, that waits before it tries to open its input again.
        case waiting
        /// Everything was delivered, or the source was stopped.
        case ended
        /// Reading failed for good.
        case failed
    }

    /// The stage.
    public var state: State = .opening
    /// Frames delivered since the start.
    public var framesDecoded: Int64 = 0
    /// Packets or frames that the decoders refused or repaired, and packets that the transport says are damaged.
    public var decodeErrors: Int64 = 0
    /// Compressed packets read since the start.
    public var packetsRead: Int64 = 0
    /// How many times a live source, or a loop that failed, was opened again.
    public var reopens: Int64 = 0
    /// The last failure, in one sentence without secrets.
    public var lastError: String?

    /// A source that has not begun.
    public init() {}
}

/// How an input is opened.
public struct IngestOptions: Sendable, Hashable {
    /// Whether a file starts again at its end, for ever.
    public var loop: Bool
    /// The size asked of the test pattern and of devices, width and height in pixels; nil for their own.
    public var size: FrameSize?
    /// The frame rate asked of the test pattern and of devices; nil for their own.
    public var frameRate: FrameRate?

    /// Options of these values.
    public init(loop: Bool = false, size: FrameSize? = nil, frameRate: FrameRate? = nil) {
        self.loop = loop
        self.size = size
        self.frameRate = frameRate
    }
}
