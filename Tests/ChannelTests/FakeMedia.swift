// SPDX-License-Identifier: Apache-2.0

import Dispatch
import FanOut
import Ingest
import Logging
import Media
import Synchronization

@testable import Channel

/// A decoded source that delivers the frames that a test passes to it.
final class FakeMediaSource: MediaSource {
    private struct State {
        var sink: (any SourceSink)?
        var formats: (video: VideoFormat?, audio: AudioFormat?)
        var status = SourceStatus()
    }

    let description: SourceDescription
    let options: IngestOptions
    private let state = Mutex(State())

    init(_ description: SourceDescription, _ options: IngestOptions) {
        (self.description, self.options) = (description, options)
    }

    var status: SourceStatus { state.withLock { $0.status } }
    /// The formats with which the source was started.
    var formats: (video: VideoFormat?, audio: AudioFormat?) { state.withLock { $0.formats } }
    /// Whether the source is being read.
    var isStarted: Bool { state.withLock { $0.sink != nil } }

    func start(into sink: any SourceSink, video: VideoFormat?, audio: AudioFormat?) {
        state.withLock { ($0.sink, $0.formats, $0.status.state) = (sink, (video, audio), .running) }
    }

    func stop() { state.withLock { ($0.sink, $0.status.state) = (nil, .ended) } }

    /// Delivers a gray frame of the program's format, as the frame `number` of the source.
    func deliver(_ number: Int64) {
        let (sink, format) = state.withLock { ($0.sink, $0.formats.video) }
        guard let sink, let format else { return }
        var frame = SlatePattern.frame(format, lines: [])
        (frame.pts, frame.timeBase, frame.duration) = (number, format.frameRate.timeBase, 1)
        sink.deliver(frame)
    }

    /// Lets the source report that its audio does not arrive.
    func silence() { state.withLock { $0.status.silentTracks = [.audio] } }

    func end(failure: String? = nil) {
        state.withLock { state in
            (state.status.state, state.status.lastError) = (failure == nil ? .ended : .failed, failure)
        }
    }
}

/// The inputs of a program that is encoded, by their locations.
final class FakeMedia: InputOpener {
    private struct State {
        var descriptions: [String: SourceDescription] = [:]
        var opened: [String: [FakeMediaSource]] = [:]
        var failures: [String: ChannelFailure] = [:]
        var whenOpened: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())

    /// Makes the input at `location` available with this description; nil makes it unavailable.
    func set(_ location: String, _ description: SourceDescription?) {
        state.withLock { $0.descriptions[location] = description }
    }

    /// Sets the error that opening an unavailable input throws; nil means an error that says that the input is away.
    func fail(_ location: String, with failure: ChannelFailure?) { state.withLock { $0.failures[location] = failure } }

    /// Calls `work` for each source that was opened, before the source is started.
    func whenOpened(_ work: @escaping @Sendable () -> Void) { state.withLock { $0.whenOpened = work } }

    /// The number of sources that are being read at a location.
    func running(_ location: String) -> Int {
        state.withLock { $0.opened[location] ?? [] }.count { $0.isStarted }
    }

    /// The source that was opened last at a location.
    subscript(location: String) -> FakeMediaSource? { state.withLock { $0.opened[location]?.last } }
    /// The number of sources that were opened at a location.
    func count(_ location: String) -> Int { state.withLock { $0.opened[location]?.count ?? 0 } }

    func open(
        _ location: InputLocation, _ options: IngestOptions, opening: SourceOpening?, clock: any MonotonicClock,
        logger: Logger
    ) throws(ChannelFailure) -> any MediaSource {
        let name = location.description
        let (source, failure): (FakeMediaSource?, ChannelFailure?) = state.withLock { state in
            guard let description = state.descriptions[name] else { return (nil, state.failures[name]) }
            let source = FakeMediaSource(description, options)
            state.opened[name, default: []].append(source)
            return (source, nil)
        }
        guard let source else {
            throw failure ?? ChannelFailure(.inputUnreadable, .openInput(name), because: "it is away")
        }
        state.withLock { $0.whenOpened }?()
        return source
    }

    func packets(
        at location: InputLocation, loops: Bool, needs: TrackKind?, opening: SourceOpening?, clock: any MonotonicClock,
        logger: Logger
    ) throws(ChannelFailure) -> any PacketSource {
        throw ChannelFailure(.inputUnreadable, .openInput("\(location)"), because: "it is decoded")
    }

    func whenGivenUp(_ work: @escaping @Sendable () -> Void) {}
}
