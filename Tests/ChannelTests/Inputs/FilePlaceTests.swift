// SPDX-License-Identifier: Apache-2.0

import Dispatch
import FanOut
import Ingest
import Media
import Studio
import Synchronization
import TestSupport
import Testing

@testable import Channel
@testable import Program

/// `SourceInputsTests` plays such files to their end.
@Suite("The position of a source's file, and its first frame")
struct FilePlaceTests {
    private static let film = "film.mp4"
    private static let format = VideoFormat(width: 320, height: 180, frameRate: FrameRate(25), color: .bt709)
    private let media = FakeMedia()
    private let director = Director()

    /// Says whether the file is wanted, and counts how often it was asked.
    private final class Director: Sendable {
        private let state = Mutex((isWanted: true, asked: 0))
        var asked: Int { state.withLock { $0.asked } }

        func want(_ isWanted: Bool) { state.withLock { $0.isWanted = isWanted } }

        func isWanted() -> Bool {
            state.withLock { state in
                state.asked += 1
                return state.isWanted
            }
        }
    }

    /// The inputs of a file in a program of two sources. The file is being read.
    private func make(whenOff: WhenOff) throws -> SourceInputs {
        media.set(Self.film, SourceDescription(video: Self.format, hasAudio: true, isLive: false, duration: nil))
        let source = ChannelConfiguration.Source(name: "film", input: InputLocation(Self.film), whenOff: whenOff)
        var configuration = ChannelConfiguration()
        configuration.sources = [source, .init(name: "other", input: InputLocation("test:"))]
        let inputs = SourceInputs(
            source, of: configuration, common: nil, listening: media,
            recordings: ChannelRecordings(hub: PacketStream(), group: DispatchGroup()), clock: SteppedClock(),
            logger: quiet)
        try inputs.prepare(Self.format, audio: nil)
        inputs.spareUnless { [director] in director.isWanted() }
        try eventually("the file is read") { media[Self.film]?.isStarted == true }
        return inputs
    }

    private func place(of inputs: SourceInputs) -> FilePlace { inputs.state.withLock { $0.file } }

    @Test("An unneeded file is closed as soon as its first frame is known, which is shown in its place")
    func first() throws {
        director.want(false)
        let inputs = try make(whenOff: .close)
        defer { inputs.stop() }
        #expect(!place(of: inputs).isClosed && inputs.fileStill(nil) == nil, "there is nothing to show")
        media[Self.film]?.deliver(0)
        try eventually("the file is closed") { place(of: inputs).isClosed && media.running(Self.film) == 0 }
        let frame = try #require(place(of: inputs).first)
        #expect(frame.pts == 0 && inputs.fileStill(nil) == Scene(video: .still(frame), audio: nil))
        // The closed file counts as running, so that no backup replaces it.
        let report = inputs.report(of: 0, at: 5)
        #expect(report.isRunning && report.newest == 5)
    }

    @Test("A frame from the middle of a file does not become the frame that is shown in its place")
    func middle() throws {
        let inputs = try make(whenOff: .close)
        defer { inputs.stop() }
        try inputs.play(from: .seconds(10))
        var frames: Int64 = 0
        try eventually("the file is on air from 10 s on") {
            if let source = media[Self.film], source.options.start == .seconds(10), source.isStarted {
                source.deliver(frames)
                frames += 1
            }
            return inputs.bus.scene?.mainFeed != nil
        }
        director.want(false)
        let asked = director.asked
        try eventually("the file is checked") { director.asked > asked + 1 }
        let place = place(of: inputs)
        #expect(place.first == nil && !place.isClosed && place.start == .seconds(10))
        #expect(media.running(Self.film) == 1)
    }

    @Test("A file that is kept while it is off air stays open, and the director is not asked whether it is wanted")
    func kept() throws {
        director.want(false)
        let inputs = try make(whenOff: .keep)
        defer { inputs.stop() }
        media[Self.film]?.deliver(0)
        try eventually("the file is on air") { inputs.bus.scene?.mainFeed != nil }
        let place = place(of: inputs)
        #expect(place.isWanted == nil && place.first == nil && !place.isClosed)
        #expect(director.asked == 0 && media.running(Self.film) == 1)
    }
}
