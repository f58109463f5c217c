// SPDX-License-Identifier: Apache-2.0

import Foundation
import Media
import PacketSamples
import Testing

@testable import HLS

/// Playlists with tracks that change or are missing.
@Suite struct HLSTrackTests {
    /// Audio with another coding than ``Samples`` has.
    private static let otherAudio = TrackDescription(
        format: .program, decoderConfiguration: SharedBytes([0x12, 0x10]), bitrate: 64_000, frameLength: 1024)

    private let path = NSTemporaryDirectory() + "relay-hls-\(UUID().uuidString)"

    private var playlist: HLSPlaylist? {
        (try? String(contentsOfFile: "\(path)/index.m3u8", encoding: .utf8)).flatMap { HLSPlaylist(parsing: $0) }
    }

    private func bytes(_ name: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: URL(fileURLWithPath: "\(path)/\(name)")))
    }

    private func holds(_ name: String, _ bytes: [UInt8]) throws -> Bool {
        try Data(self.bytes(name)).range(of: Data(bytes)) != nil
    }

    private func writer(_ stream: StreamDescription) throws -> HLSWriter {
        try HLSWriter(path, HLSOptions(["segment": "1s", "list": "6"]), stream)
    }

    private func video(_ index: Int64) -> EncodedPacket {
        Samples.video(pts: index, dts: index, isKeyframe: index % 30 == 0)
    }

    /// The audio packet nearest to the beginning of frame `index`, rounded down.
    private func audio(_ index: Int64) -> EncodedPacket { Samples.audio(pts: index * 1600 / 1024 * 1024) }

    @Test("When the coding changes, a discontinuity with a new header begins, and no frame is lost")
    func recoding() throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        let writer = try writer(Samples.description)
        for index in Int64(0)..<120 {
            let frame = video(index)
            try writer.write(index < 60 ? frame : frame.recoded(as: Samples.otherTrack))
            try writer.write(audio(index))
        }
        try writer.finish(isProgramOver: true)
        let entries = try #require(playlist).entries
        #expect(entries.map(\.isDiscontinuous) == [false, false, true, false])
        #expect(entries.map(\.duration) == [1_000_000, 1_000_000, 1_000_000, 1_000_000])
        #expect(Set(entries.map(\.map)).count == 2 && entries[1].map != entries[2].map)
        #expect(entries[2].date - entries[0].date == 2000)
        #expect(try !holds(entries[0].map, Samples.otherTrack.decoderConfiguration.array))
        #expect(try holds(entries[2].map, Samples.otherTrack.decoderConfiguration.array))
        #expect(writer.frames == 120)
    }

    @Test("When the coding of both tracks changes, one discontinuity begins, and no audio or frame is lost")
    func otherSender() throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        let writer = try writer(Samples.description)
        for index in Int64(0)..<120 {
            let (frame, sound) = (video(index), audio(index))
            try writer.write(index < 60 ? frame : frame.recoded(as: Samples.otherTrack))
            // Audio arrives somewhat later than its video.
            if index == 60 { for late in Int64(57)..<60 { try writer.write(audio(late)) } }
            if index >= 60 {
                try writer.write(sound.recoded(as: Self.otherAudio))
            } else if index < 57 {
                try writer.write(sound)
            }
        }
        try writer.finish(isProgramOver: true)
        let entries = try #require(playlist).entries
        #expect(entries.map(\.isDiscontinuous) == [false, false, true, false])
        #expect(try holds(entries[2].map, [0x12, 0x10]))
        #expect(try holds(entries[2].map, Samples.otherTrack.decoderConfiguration.array))
        #expect(writer.frames == 120)
        #expect(try entries.map { try audioSamples(of: $0.name) }.reduce(0, +) == 120)
    }

    /// Number of audio samples (the second track) in the fragments of a segment.
    private func audioSamples(of name: String) throws -> Int {
        let bytes = try bytes(name)
        var (count, track) = (0, UInt32(0))
        func number(_ place: Int) -> UInt32 { bytes[place..<place + 4].reduce(0) { $0 << 8 | UInt32($1) } }
        for place in bytes.indices.dropLast(20) {
            switch Array(bytes[place..<place + 4]) {
            case Array("tfhd".utf8): track = number(place + 8)
            case Array("trun".utf8): count += track == 2 ? Int(number(place + 8)) : 0
            default: break
            }
        }
        return count
    }

    @Test(
        "When the coding of the audio changes, this takes effect at once, and no audio and no frame is lost",
        arguments: [40, 60, 89])
    func audioRecoding(change: Int64) throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        let writer = try writer(Samples.description)
        var requests = 0
        for index in Int64(0)..<120 {
            // Audio arrives before the frame that is shown with it.
            try writer.write(index < change ? audio(index) : audio(index).recoded(as: Self.otherAudio))
            try writer.write(video(index))
            if writer.wantsKeyframe { requests += 1 }
            writer.wantsKeyframe = false
        }
        try writer.finish(isProgramOver: true)
        let entries = try #require(playlist).entries
        let first = try #require(entries.firstIndex { $0.isDiscontinuous })
        #expect(entries.count { $0.isDiscontinuous } == 1)
        #expect(entries[..<first].reduce(0) { $0 + $1.duration } / 1000 == change * 1000 / 30)
        #expect(try holds(entries[first].map, [0x12, 0x10]))
        // The program's first audio comes before the first keyframe.
        #expect(try entries.map { try audioSamples(of: $0.name) }.reduce(0, +) == 119)
        #expect(writer.frames == 120)
        // A keyframe is requested only if the first segment with the new coding does not begin with one.
        #expect(entries[first].isIndependent == (change == 60) && requests == (change == 60 ? 0 : 1))
    }

    @Test(
        "If a new sender's audio arrives before its video, there is one discontinuity, and none of its audio or frames is lost"
    )
    func audioFirst() throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        let writer = try writer(Samples.description)
        for index in Int64(0)..<120 {
            let isOther = index >= 60
            try writer.write(isOther ? audio(index).recoded(as: Self.otherAudio) : audio(index))
            try writer.write(isOther ? video(index).recoded(as: Samples.otherTrack) : video(index))
        }
        try writer.finish(isProgramOver: true)
        let entries = try #require(playlist).entries
        #expect(entries.map(\.isDiscontinuous) == [false, false, true, false])
        #expect(try entries.map { try audioSamples(of: $0.name) }.reduce(0, +) == 119)
        #expect(writer.frames == 120 && !writer.wantsKeyframe)
    }

    @Test(
        "If the coding changes before the first packet, the HLS writer leaves no header or segment of the old coding",
        arguments: [true, false])
    func lateJoiner(isKnown: Bool) throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        let writer = try writer(isKnown ? Samples.description : StreamDescription())
        for index in Int64(0)..<30 { try writer.write(video(index).recoded(as: Samples.otherTrack)) }
        try writer.finish(isProgramOver: true)
        let entries = try #require(playlist).entries
        #expect(entries.count == 1 && !entries[0].isDiscontinuous)
        let names = try FileManager.default.contentsOfDirectory(atPath: path)
        #expect(names.filter { $0.hasSuffix("-init.mp4") } == [entries[0].map])
    }

    @Test("If a stream has no audio, its header has no audio track, and no segment waits for audio")
    func camera() throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        let camera = try writer(StreamDescription(video: Samples.description.video))
        for index in Int64(0)..<60 { try camera.write(video(index)) }
        try camera.finish(isProgramOver: true)
        let entries = try #require(playlist).entries
        #expect(entries.map(\.duration) == [1_000_000, 1_000_000])
        #expect(try holds(entries[0].map, Array("vide".utf8)) && !holds(entries[0].map, Array("soun".utf8)))
    }

    @Test("If a stream has no video, its header has no video track, and no keyframe is requested")
    func radio() throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        let radio = try writer(StreamDescription(audio: Samples.audioTrack))
        for index in Int64(0)..<120 { try radio.write(Samples.audio(pts: index * 1024)) }
        try radio.finish(isProgramOver: true)
        let entries = try #require(playlist).entries
        #expect(entries.count == 3 && !radio.wantsKeyframe)
        #expect(try !holds(entries[0].map, Array("vide".utf8)) && holds(entries[0].map, Array("soun".utf8)))
    }

    @Test("At a variable frame rate a late keyframe causes no discontinuity, and segments have their real durations")
    func variableRate() throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        let track = TrackDescription(
            video: .h264, frames: FrameFormat(width: 640, height: 360), timeBase: .milliseconds,
            decoderConfiguration: Samples.otherTrack.decoderConfiguration)
        let writer = try writer(StreamDescription(video: track))
        // The frames last 20 to 260 ms, and their packets state a duration of 40 ms.
        var time: Int64 = 0
        var keyframes: [Int64] = []
        for index in Int64(0)..<60 {
            if index % 10 == 0 { keyframes.append(time) }
            try writer.write(
                EncodedPacket(
                    of: track, pts: time, dts: time, duration: 40, isKeyframe: index % 10 == 0,
                    payload: SharedBytes([0, 0, 0, 1, 0x65])))
            time += index % 10 == 9 ? 260 : 20 + index % 10 * 20
        }
        try writer.finish(isProgramOver: true)
        let entries = try #require(playlist).entries
        #expect(entries.allSatisfy { !$0.isDiscontinuous })
        #expect(entries.dropLast().map(\.duration) == zip(keyframes, keyframes.dropFirst()).map { ($1 - $0) * 1000 })
    }
}
