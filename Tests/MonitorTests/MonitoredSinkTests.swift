// SPDX-License-Identifier: Apache-2.0

import Foundation
import LibAV
import Logging
import Media
import Synchronization
import TestSupport
import Testing

@testable import Monitor

@Suite("The monitored program")
struct MonitoredSinkTests {
    /// An encoder that only stores the frames and the audio that it gets.
    private final class Encoder: ProgramSink {
        let taken = Mutex<(frames: [Int64], audio: [AudioBuffer], isFinished: Bool)>(([], [], false))

        func encode(_ frame: VideoFrame, at index: Int64) { taken.withLock { $0.frames.append(index) } }
        func encode(_ audio: AudioBuffer) { taken.withLock { $0.audio.append(audio) } }
        func finish() { taken.withLock { $0.isFinished = true } }
    }

    /// A log handler that stores the lines.
    private struct Spy: LogHandler {
        final class Lines: Sendable { let all = Mutex<[String]>([]) }

        let lines: Lines
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.info
        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let values = (event.metadata ?? [:]).map { "\($0)=\($1)" }
            lines.all.withLock { $0.append("\(event.level) \(event.message) \(values.joined(separator: " "))") }
        }
    }

    private let encoder = Encoder()
    private let lines = Spy.Lines()
    private let format = VideoFormat(
        width: 320, height: 180, frameRate: FrameRate(25), sampleAspectRatio: .square, color: .bt709)

    private func sink(_ settings: MonitorSettings, audio: AudioFormat? = .program) throws -> MonitoredSink {
        let logger = Logger(label: "test", factory: { _ in Spy(lines: lines) })
        return try MonitoredSink(encoder, settings: settings, video: format, audio: audio, logger: logger)
    }

    private func frame(_ luma: UInt8) -> VideoFrame {
        let storage = FrameBuffer(width: 320, height: 180) { bytes in for index in bytes.indices { bytes[index] = luma }
        }
        return VideoFrame(pts: 0, timeBase: .milliseconds, width: 320, height: 180, storage: storage)
    }

    /// Feeds `seconds` of the program, with these luma and sample levels.
    private func run(
        _ sink: MonitoredSink, from second: Int, seconds: Int, luma: (Int) -> UInt8, sample: Float
    ) throws {
        for index in second * 25..<(second + seconds) * 25 {
            try sink.encode(
                AudioBuffer(
                    position: Int64(index * 1920), format: .program,
                    channels: Array(repeating: Array(repeating: sample, count: 1920), count: 2)))
            try sink.encode(frame(luma(index)), at: Int64(index))
        }
    }

    @Test(
        "Audio that cannot be measured is still on air at its position, and the following audio is measured",
        arguments: [nil, -23.0])
    func refused(loudness: Double?) throws {
        var settings = MonitorSettings()
        (settings.measuresLoudness, settings.loudness) = (true, loudness)
        let sink = try sink(settings)
        try run(sink, from: 0, seconds: 1, luma: { _ in 16 }, sample: 0.1)
        // libavfilter refuses audio whose rate differs from that of its graph.
        let other = AudioFormat(sampleRate: 44_100, channels: 2)
        try sink.encode(AudioBuffer.silence(at: 48_000, count: 1920, format: other))
        // A tone of 1 kHz.
        let tone = (0..<1920).map { $0 / 24 % 2 == 0 ? Float(0.1) : -0.1 }
        for index in 26..<100 {
            try sink.encode(AudioBuffer(position: Int64(index * 1920), format: .program, channels: [tone, tone]))
        }
        try sink.finish()
        let audio = encoder.taken.withLock { $0.audio }
        #expect(audio.first?.position == 0 && audio.reduce(0) { $0 + $1.count } == 192_000)
        #expect(zip(audio, audio.dropFirst()).allSatisfy { $0.end == $1.position })
        #expect(sink.status.loudness.map { $0.momentary > -60 } == true)
        #expect(lines.all.withLock { $0.filter { $0.contains("was not measured") }.count } == 1)
        #expect(lines.all.withLock { $0.filter { $0.contains("not measured any more") }.isEmpty })
    }

    @Test("Silence, black video and frozen video are reported with their beginning and duration")
    func alarms() throws {
        var settings = MonitorSettings()
        (settings.silence, settings.black, settings.frozen) = (.seconds(3), .seconds(3), .seconds(3))
        let sink = try sink(settings)
        let moving = { (index: Int) in UInt8(60 + index % 4 * 40) }
        try run(sink, from: 0, seconds: 2, luma: moving, sample: 0.1)
        try run(sink, from: 2, seconds: 5, luma: { _ in 16 }, sample: 0)
        var status = sink.status
        #expect(status.black?.isActive == true && status.silence?.isActive == true && status.frozen?.isActive == false)
        try run(sink, from: 7, seconds: 5, luma: { _ in 100 }, sample: 0.1)
        status = sink.status
        #expect(status.black?.isActive == false && status.silence?.isActive == false && status.frozen?.isActive == true)
        try run(sink, from: 12, seconds: 3, luma: moving, sample: 0.1)
        try sink.finish()
        // Every other frame is examined.
        #expect(
            lines.all.withLock { $0 } == [
                "warning the program's audio is silent since_s=2.0", "warning the program's video is black since_s=1.9",
                "notice the program's audio is not silent any more lasted_s=5.0",
                "notice the program's video is not black any more lasted_s=5.0",
                "warning the program's video is frozen since_s=7.0",
                "notice the program's video moves again lasted_s=4.8",
            ])
        #expect(encoder.taken.withLock { $0.frames.count } == 15 * 25)
    }

    @Test("The audio of a copied program is decoded for monitoring, and silence and loudness are reported")
    func packets() throws {
        var settings = MonitorSettings()
        (settings.silence, settings.measuresLoudness) = (.seconds(2), true)
        let logger = Logger(label: "test", factory: { _ in Spy(lines: lines) })
        let monitor = try PacketMonitor(settings, channel: "test", logger: logger)
        let encoder = try AACEncoder(format: .program, bitrate: 160_000)
        for second in 0..<9 {
            let level: Float = (3..<6).contains(second) ? 0 : 0.0708
            let tone = (0..<48_000).map { level * Float(sin(2 * .pi * 1000 * Double($0) / 48_000)) }
            let audio = AudioBuffer(position: 0, format: .program, channels: [tone, tone])
            for packet in try encoder.encode(audio) { monitor.take(packet) }
            // If more packets waited than the limit, they would not be examined.
            try eventually("what was taken is measured") { monitor.isIdle }
        }
        let told = lines.all.withLock { $0 }
        #expect(
            told.map { $0.prefix { $0 != "=" } } == [
                "warning the program's audio is silent since_s",
                "notice the program's audio is not silent any more lasted_s",
            ])
        let loudness = try #require(monitor.status.loudness)
        #expect(abs(loudness.integrated + 23) < 0.5 && monitor.status.silence?.count == 1, "\(loudness)")
    }

    @Test("Audio that stops while video continues counts as silence until it returns")
    func vanished() throws {
        var settings = MonitorSettings()
        settings.silence = .seconds(4)
        let logger = Logger(label: "test", factory: { _ in Spy(lines: lines) })
        let monitor = try PacketMonitor(settings, channel: "test", logger: logger)
        let encoder = try AACEncoder(format: .program, bitrate: 160_000)
        let track = TrackDescription(
            video: .h264, frames: FrameFormat(width: 320, height: 180), timeBase: .milliseconds,
            decoderConfiguration: SharedBytes([1]))
        let tone = (0..<48_000).map { 0.1 * Float(sin(2 * .pi * 1000 * Double($0) / 48_000)) }
        for second in Int64(0)..<15 {
            for part in Int64(0)..<10 {
                let time = second * 1000 + part * 100
                monitor.take(
                    EncodedPacket(
                        of: track, pts: time, dts: time, duration: 100, isKeyframe: part == 0,
                        payload: SharedBytes([1])))
            }
            if !(3..<11).contains(second) {
                let audio = AudioBuffer(position: 0, format: .program, channels: [tone, tone])
                let shift: Int64 = second < 3 ? 0 : 8 * 48_000
                for packet in try encoder.encode(audio) { monitor.take(packet.moved(by: shift)) }
            }
            try eventually("what was taken is looked at") { monitor.isIdle }
            if second == 6 { #expect(monitor.status.silence?.isActive == false) }
            if second == 10 { #expect(monitor.status.silence?.isActive == true) }
        }
        let told = lines.all.withLock { $0 }
        #expect(
            told.map { $0.prefix { $0 != "=" } } == [
                "warning the program's audio is silent since_s",
                "notice the program's audio is not silent any more lasted_s",
            ], "\(told)")
    }

    @Test("A program without audio, or without alarm settings, raises no alarms")
    func off() throws {
        let sink = try sink(MonitorSettings(), audio: nil)
        try run(sink, from: 0, seconds: 12, luma: { UInt8(60 + $0 % 4 * 40) }, sample: 0)
        #expect(sink.status.silence == nil && sink.status.loudness == nil)
        var settings = MonitorSettings()
        (settings.silence, settings.black, settings.frozen) = (nil, nil, nil)
        let other = try self.sink(settings)
        try run(other, from: 0, seconds: 40, luma: { _ in 16 }, sample: 0)
        #expect(other.status == MonitorStatus())
        #expect(lines.all.withLock { $0 }.isEmpty)
    }

    @Test("Audio whose loudness is corrected reaches the encoder completely, with each sample at its position")
    func leveled() throws {
        var settings = MonitorSettings()
        settings.loudness = -23
        let sink = try sink(settings)
        try run(sink, from: 0, seconds: 4, luma: { UInt8(60 + $0 % 4 * 40) }, sample: 0.01)
        let before = encoder.taken.withLock { $0.audio.reduce(0) { $0 + $1.count } }
        #expect(before < 4 * 48_000 && before > 4 * 48_000 - 2400)
        try sink.finish()
        let audio = encoder.taken.withLock { $0.audio }
        #expect(audio.first?.position == 0 && audio.last?.end == 4 * 48_000)
        #expect(zip(audio, audio.dropFirst()).allSatisfy { $0.end == $1.position })
        #expect(sink.status.loudness != nil && sink.status.gain != nil)
    }
}
