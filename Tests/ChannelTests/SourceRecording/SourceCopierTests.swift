// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Encoder
import FanOut
import Ingest
import Logging
import Media
import Program
import Status
import TestSupport
import Testing

@testable import Channel

@Suite("Copying a source's packets into its recording")
struct SourceCopierTests {
    /// The times of a source: its media are due in the program by `later` after their times on the source's timeline.
    private final class Times: SourceTimes {
        let later: Duration

        init(_ later: Duration) { self.later = later }

        func advance(to moment: MonotonicInstant) {}
        func due(_ time: Timestamp, of track: TrackKind) -> MonotonicInstant? {
            MonotonicInstant(nanoseconds: time.nanoseconds) + later
        }
        func stretch(of track: TrackKind) -> Double { 0 }
    }

    private static let rate = FrameRate(25)
    private static let format = VideoFormat(width: 64, height: 48, frameRate: rate)
    private let packets = CollectedPackets()
    private let hub = PacketStream(delivery: .immediate)
    private let log = CollectedLog(from: .notice)

    init() {
        hub.begin(StreamDescription(), keyframes: NoKeyframes())
        hub.add(packets)
    }

    /// Returns a feed whose packets the program shows `later` milliseconds after the sender's time.
    private func feed(later: Int64) -> SourceFeed {
        let feed = SourceFeed(
            pacing: .live(frameRate: Self.rate), frameRate: Self.rate, audio: .program, keepsPackets: .seconds(1))
        feed.attach(Times(.milliseconds(later)))
        // The program's time is the clock's.
        feed.programTime.line = ProgramClockLine(origin: .zero, image: .zero, rate: 0)
        feed.beginPackets(refusal: nil)
        return feed
    }

    private func copier(_ makeEncoder: @escaping SourceCopier.EncoderMaker = Self.noEncoder) -> SourceCopier {
        SourceCopier(frameRate: Self.rate, into: hub, logger: log.logger, makeEncoder: makeEncoder)
    }

    private static let noEncoder: SourceCopier.EncoderMaker = { () throws(ChannelFailure) -> SourceEncoder in
        throw ChannelFailure(.internalError, .openEncoder(of: "the recording of a source"), because: "it is away")
    }

    /// Gives the copier the program's frames of these numbers, in each of which the source shows `feed`.
    private func run(_ copier: SourceCopier, _ frames: Range<Int64>, showing feed: SourceFeed?) {
        for number in frames {
            copier.take(packetsOf: feed, at: FrameIndex(number))
            copier.take(
                nil, .silence(at: number * 1920, count: 1920, format: .program), at: FrameIndex(number))
        }
    }

    /// Delivers what a sender sends at these moments, in milliseconds.
    private func send(_ sender: FakeSender, _ times: StrideTo<Int64>, to feed: SourceFeed) {
        for time in times { for packet in sender.packets(at: time) { feed.deliver(packet: packet) } }
    }

    @Test("A source's packets are recorded once, when the program reaches them, with the times at which they are shown")
    func copied() {
        let (copier, feed) = (copier(), feed(later: 400))
        #expect(copier.coding == .waiting && copier.description.tracks.isEmpty)
        send(FakeSender(1), stride(from: 0, to: 4000, by: 40), to: feed)
        for number in 0..<60 as Range<Int64> {
            run(copier, number..<number + 1, showing: feed)
            // The sender's frame of 0 ms is shown in the program's frame 10.
            #expect(packets.frames.count == max(0, Int(number) - 9))
        }
        #expect(copier.coding == .copied && copier.dropped == 0 && copier.failure == nil)
        let times = packets.frames.map { $0.ptsNanoseconds / 1_000_000 }
        #expect(times == Array(stride(from: Int64(400), to: 2400, by: 40)))
        #expect(packets.frames.first?.isKeyframe == true && log.lines.isEmpty)
        // Packets that come after the end are not recorded.
        let count = packets.all.count
        copier.finish()
        run(copier, 60..<100, showing: feed)
        #expect(packets.all.count == count)
    }

    @Test("After a switch, the new input is recorded from its next keyframe on, and frames before that are counted")
    func switched() {
        let copier = copier()
        let (first, second) = (feed(later: 400), feed(later: -99_600))
        send(FakeSender(1), stride(from: 0, to: 3000, by: 40), to: first)
        // The backup's times begin at 100 s, with a keyframe each second.
        send(FakeSender(2), stride(from: 100_000, to: 104_000, by: 40), to: second)
        run(copier, 0..<45, showing: first)
        #expect(packets.frames.allSatisfy { $0.mark == 1 } && packets.frames.count == 35)
        // Frame 45 is at 1.8 s, and the next keyframe of the backup at 2.4 s.
        run(copier, 45..<100, showing: second)
        let taken = packets.frames.filter { $0.mark == 2 }
        #expect(taken.first?.isKeyframe == true && taken.first?.ptsNanoseconds == 2_400_000_000)
        #expect(copier.dropped == 15)
        let text = "frames are left out of the recording of a source: its other input had no keyframe yet frames=15"
        #expect(log.lines(containing: "had no keyframe yet") == [text])
        for track in [TrackKind.video, .audio] {
            let times = packets.all.filter { $0.track == track }.map(\.dtsNanoseconds)
            #expect(!times.isEmpty && zip(times, times.dropFirst()).allSatisfy { $0 < $1 })
        }
    }

    @Test("A second recording of a source begins with the newest keyframe that the first one recorded")
    func again() {
        let feed = feed(later: 0)
        send(FakeSender(1), stride(from: 0, to: 4000, by: 40), to: feed)
        let first = copier()
        run(first, 0..<60, showing: feed)
        first.finish()
        let (second, before) = (copier(), packets.frames.count)
        run(second, 60..<70, showing: feed)
        let frames = packets.frames.dropFirst(before)
        #expect(frames.first?.isKeyframe == true && frames.first?.ptsNanoseconds == 2_000_000_000)
        #expect(frames.count == 20 && second.dropped == 0)
    }

    @Test("While a source has no input or its packets are late, no packet of the source is recorded")
    func absent() {
        let (copier, feed) = (copier(), feed(later: 0))
        run(copier, 0..<50, showing: nil)
        run(copier, 50..<60, showing: feed)
        #expect(packets.all.isEmpty && copier.coding == .waiting)
        send(FakeSender(1), stride(from: 2000, to: 3000, by: 40), to: feed)
        run(copier, 60..<61, showing: feed)
        // All packets up to the program's frame are recorded now. The second call records none of them again.
        #expect(packets.frames.map { $0.ptsNanoseconds / 40_000_000 } == Array(50...60))
        run(copier, 60..<61, showing: feed)
        #expect(packets.frames.count == 11)
    }

    // MARK: A coding that recordings do not support

    @Test("If a source can be neither copied nor encoded, its recording fails with that reason")
    func refused() throws {
        let (copier, feed) = (copier(), feed(later: 0))
        feed.beginPackets(refusal: "its coding is unknown")
        run(copier, 0..<3, showing: feed)
        try eventually("the encoder fails") { copier.failure != nil }
        #expect(copier.failure == "The encoder of the recording of a source cannot be opened: it is away.")
        #expect(log.lines(containing: "is encoded for its recording").count == 1 && copier.missing == nil)
        run(copier, 3..<10, showing: feed)
        copier.finish()
        #expect(packets.all.isEmpty && log.lines(containing: "the source is not recorded").count == 1)
    }

    /// A copier whose source cannot be copied, and whose encoder is opened when `opened` is signalled.
    private func encodingCopier(_ opened: DispatchSemaphore) -> SourceCopier {
        var settings = EncoderSettings()
        (settings.preset, settings.tune) = (.ultrafast, .zerolatency)
        return copier { [hub, settings] () throws(ChannelFailure) -> SourceEncoder in
            opened.wait()
            return try SourceEncoder(
                settings, format: Self.format, placeholder: SlatePattern.frame(Self.format, lines: []), into: hub,
                clock: ManualClock(), logger: quiet)
        }
    }

    @Test("If a source cannot be copied, its encoder encodes every frame of the source once the encoder is open")
    func encoded() throws {
        let (opened, feed) = (DispatchSemaphore(value: 0), feed(later: 0))
        let copier = encodingCopier(opened)
        feed.beginPackets(refusal: "its coding is unknown")
        run(copier, 0..<5, showing: feed)
        #expect(copier.coding == .encoded && copier.status.framesIn == 0)
        opened.signal()
        var next: Int64 = 5
        try eventually("the encoder takes over") {
            run(copier, next..<next + 1, showing: feed)
            next += 1
            return copier.status.framesIn > 0
        }
        run(copier, next..<next + 25, showing: feed)
        copier.finish()
        run(copier, next + 25..<next + 30, showing: feed)
        try eventually("everything is encoded") { packets.frames.last?.pts == next + 24 }
        let numbers = packets.frames.map(\.pts)
        #expect(numbers.count >= 26 && zip(numbers, numbers.dropFirst()).allSatisfy { $0 + 1 == $1 })
        #expect(packets.frames.first?.isKeyframe == true && packets.all.contains { $0.track == .audio })
        #expect(copier.failure == nil && copier.dropped == 0 && copier.missing == nil)
    }

    @Test("A recording that ends while its source's encoder is being opened contains nothing, and is no failure")
    func endedWhileOpening() throws {
        let (opened, feed) = (DispatchSemaphore(value: 0), feed(later: 0))
        let copier = encodingCopier(opened)
        feed.beginPackets(refusal: "its coding is unknown")
        run(copier, 0..<5, showing: feed)
        copier.finish()
        opened.signal()
        try eventually("the encoder is open") { hub.description.video != nil }
        #expect(copier.failure == nil && packets.all.isEmpty && copier.coding == .encoded)
    }
}
