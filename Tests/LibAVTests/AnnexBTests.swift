// SPDX-License-Identifier: Apache-2.0

import Foundation
import Media
import Testing

@testable import LibAV

/// Conversion from the form of transport streams to that of MP4 and FLV.
@Suite struct AnnexBTests {
    private let path = NSTemporaryDirectory() + "relay-annexb-\(UUID().uuidString)"

    init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }

    /// ffmpeg's standard output.
    private func ffmpeg(_ arguments: String...) throws -> [UInt8] {
        let process = Process()
        let pipe = Pipe()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["ffmpeg", "-v", "error", "-nostdin", "-y"] + arguments
        process.standardOutput = pipe
        try process.run()
        let bytes = [UInt8](pipe.fileHandleForReading.readDataToEndOfFile())
        process.waitUntilExit()
        try #require(process.terminationStatus == 0)
        return bytes
    }

    /// Encodes a clip of one second into the file `clip.mp4`.
    private func makeClip(_ encoder: [String], size: String = "320x180") throws -> String {
        var arguments = [
            "ffmpeg", "-v", "error", "-nostdin", "-y", "-f", "lavfi", "-i", "testsrc=size=\(size):rate=25",
        ]
        arguments += ["-t", "1", "-pix_fmt", "yuv420p", "-g", "12", "-c:v"] + encoder + ["\(path)/clip.mp4"]
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = arguments
        try process.run()
        process.waitUntilExit()
        try #require(process.terminationStatus == 0)
        return "\(path)/clip.mp4"
    }

    /// The content of a box in the file.
    private func box(_ name: String, _ file: String) throws -> [UInt8] {
        let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: file)))
        let code = Array(name.utf8)
        let place = try #require((4..<bytes.count - 4).first { bytes[$0..<$0 + 4].elementsEqual(code) })
        let size = bytes[place - 4..<place].reduce(0) { $0 << 8 | Int($1) }
        return Array(bytes[place + 4..<place - 4 + size])
    }

    /// Splits the stream into access units, each starting with a delimiter of this type.
    private func accessUnits(_ bytes: [UInt8], _ isDelimiter: (UInt8) -> Bool) -> [[UInt8]] {
        var units: [[UInt8]] = []
        for unit in AnnexBReader.units(bytes) {
            if isDelimiter(unit.first ?? 0) { units.append([]) }
            units[units.count - 1] += [0, 0, 0, 1] + unit
        }
        return units
    }

    @Test(
        "H.264 in Annex B is converted to the bytes and configuration of ffmpeg's MP4",
        arguments: ["320x180", "1282x722"])
    func avc(size: String) throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        let clip = try makeClip(["libx264", "-bf", "2"], size: size)
        let stream = try ffmpeg(
            "-i", clip, "-c", "copy", "-bsf", "h264_mp4toannexb,h264_metadata=aud=insert", "-f", "h264", "-")
        var reader = AnnexBReader(.h264)
        let units = accessUnits(stream) { $0 & 0x1F == 9 }.compactMap { reader.read($0) }
        #expect(units.count == 25)
        let isSame =
            try units.flatMap(\.payload.array) == ffmpeg("-i", clip, "-map", "0", "-c", "copy", "-f", "data", "-")
        #expect(isSame)
        #expect(units.map(\.isKeyframe).filter(\.self).count == 3 && units[0].isKeyframe)
        #expect(units.contains(where: \.isDisposable) && !units[0].isDisposable)
        #expect(units.map(\.changesConfiguration).filter(\.self).count == 1 && units[0].changesConfiguration)
        #expect(try reader.sets.configuration == box("avcC", clip))
        let shown = size.split(separator: "x").compactMap { Int($0) }
        #expect(reader.sets.size?.width == shown[0] && reader.sets.size?.height == shown[1])
    }

    @Test("HEVC in Annex B is converted to the bytes of ffmpeg's MP4, with the same parameter sets")
    func hevc() throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        let clip = try makeClip(["libx265", "-preset", "ultrafast", "-x265-params", "log-level=none", "-tag:v", "hvc1"])
        let stream = try ffmpeg(
            "-i", clip, "-c", "copy", "-bsf", "hevc_mp4toannexb,hevc_metadata=aud=insert", "-f", "hevc", "-")
        var reader = AnnexBReader(.hevc)
        let units = accessUnits(stream) { $0 >> 1 & 0x3F == 35 }.compactMap { reader.read($0) }
        #expect(units.count == 25)
        // ffmpeg repeats SEI from the header (types 39 and 40) before each keyframe.
        let samples = try ffmpeg("-i", clip, "-map", "0", "-c", "copy", "-f", "data", "-")
        func frames(_ bytes: [UInt8]) -> [[UInt8]] {
            var (units, position): ([[UInt8]], Int) = ([], 0)
            while position + 4 < bytes.count {
                let end = position + 4 + bytes[position..<position + 4].reduce(0) { $0 << 8 | Int($1) }
                units.append(Array(bytes[position + 4..<min(end, bytes.count)]))
                position = end
            }
            return units.filter { ![39, 40].contains($0[0] >> 1 & 0x3F) }
        }
        let isSame = frames(units.flatMap(\.payload.array)) == frames(samples)
        #expect(isSame)
        #expect(units[0].isKeyframe && units[0].changesConfiguration)
        #expect(reader.sets.size?.width == 320 && reader.sets.size?.height == 180)
        let (ours, theirs) = (try #require(reader.sets.configuration), try box("hvcC", clip))
        // Version, profile, compatibility, constraints, level; chroma format and depths; sub-layers and lengths.
        #expect(ours.prefix(13) == theirs.prefix(13))
        #expect(ours[16...18] == theirs[16...18] && ours[21] & 3 == 3 && ours[21] >> 3 & 7 == theirs[21] >> 3 & 7)
        #expect(ours[22] == 3 && sets(ours) == Array(sets(theirs).prefix(3)))
    }

    /// The sets of an HEVC configuration record.
    private func sets(_ record: [UInt8]) -> [[UInt8]] {
        var (sets, position): ([[UInt8]], Int) = ([], 23)
        for _ in 0..<record[22] {
            let count = Int(record[position + 1]) << 8 | Int(record[position + 2])
            position += 3
            for _ in 0..<count {
                let size = Int(record[position]) << 8 | Int(record[position + 1])
                sets.append(Array(record[position + 2..<position + 2 + size]))
                position += 2 + size
            }
        }
        return sets
    }

    @Test(
        "A new frame size is detected at its keyframe, and repeated parameter sets do not count as a change")
    func change() throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        func stream(_ size: String) throws -> [[UInt8]] {
            let clip = try makeClip(["libx264"], size: size)
            return accessUnits(
                try ffmpeg(
                    "-i", clip, "-c", "copy", "-bsf", "h264_mp4toannexb,h264_metadata=aud=insert", "-f", "h264", "-")
            ) { $0 & 0x1F == 9 }
        }
        var reader = AnnexBReader(.h264)
        let all = try stream("320x180") + stream("320x180") + stream("640x360")
        let changes = all.map { reader.read($0)?.changesConfiguration == true }
        #expect(changes.indices.filter { changes[$0] } == [0, 50])
        #expect(reader.sets.size?.width == 640)
    }

    @Test(
        "A new parameter set within a GOP stays before its frame, and is in the next keyframe's configuration"
    )
    func middle() throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        let clip = try makeClip(["libx264", "-bf", "0"])
        let stream = try ffmpeg(
            "-i", clip, "-c", "copy", "-bsf", "h264_mp4toannexb,h264_metadata=aud=insert", "-f", "h264", "-")
        let units = accessUnits(stream) { $0 & 0x1F == 9 }
        let sets = AnnexBReader.units(units[0]).filter { [7, 8].contains($0.first.map { $0 & 0x1F }) }.map(Array.init)
        // Both picture parameter sets have the ID 1 instead of 0, and differ in one byte.
        let added: [[UInt8]] = [[0x68, 0x5A, 0x80], [0x68, 0x5B, 0x80]]
        func marked(_ unit: [UInt8], _ set: [UInt8]) -> [UInt8] { [0, 0, 0, 1] + set + unit.dropFirst(6) }
        var reader = AnnexBReader(.h264)
        let read = reader.read(units[0])
        let first = try #require(read)
        let length = { (set: [UInt8]) -> [UInt8] in [0, 0, 0, UInt8(set.count)] + set }
        #expect(!first.payload.array.starts(with: length(sets[0])))
        for (number, set) in [(1, added[0]), (2, added[0]), (3, added[1])] {
            let read = reader.read(marked(units[number], set))
            let unit = try #require(read)
            #expect(unit.payload.array.starts(with: length(set)) == (number != 2))
            #expect(unit.changesConfiguration == (number != 2) && !unit.isKeyframe)
        }
        let record = try #require(reader.sets.configuration)
        #expect(ConfigurationRecord.sets(record, .h264) == sets + [added[1]])
        let old = try #require(AnnexBReader.configured(by: units[0]))
        let frame = SharedBytes([0, 0, 0, 1, 0x41])
        let whole = ConfigurationRecord.payload(frame, from: SharedBytes(old), to: record, .h264)
        #expect(whole?.array == length(added[1]) + frame.array)
        #expect(ConfigurationRecord.payload(frame, from: SharedBytes([]), to: record, .h264) == nil)
    }

    @Test("Parameter sets are inserted after the access unit delimiter and before the SEI that refers to them")
    func order() {
        let (delimiter, information, slice): ([UInt8], [UInt8], [UInt8]) = (
            [0, 0, 0, 2, 9, 16], [0, 0, 0, 3, 6, 5, 4], [0, 0, 0, 2, 0x65, 1]
        )
        let (sps, pps): ([UInt8], [UInt8]) = ([0x67, 0x64, 0, 31], [0x68, 1])
        let record = SharedBytes([1, 0x64, 0, 31, 0xFF, 0xE1, 0, 4] + sps + [1, 0, 2] + pps)
        func completed(_ bytes: [UInt8]) -> [UInt8] {
            ConfigurationRecord.completed(SharedBytes(bytes), by: record).array
        }
        let sets = [0, 0, 0, 4] + sps + [0, 0, 0, 2] + pps
        #expect(completed(delimiter + information + slice) == delimiter + sets + information + slice)
        #expect(completed(information + slice) == sets + information + slice)
        for bytes in [delimiter + slice, slice, sets + information + slice, information, [], [0, 0, 0, 9, 6]] {
            #expect(completed(bytes) == bytes)
        }
    }

    @Test("Damaged Annex B bytes yield no access unit, or one with no more bytes than the input")
    func damage() {
        var reader = AnnexBReader(.h264)
        #expect(reader.read([]) == nil && reader.read([0, 0, 1]) == nil && reader.read([1, 2, 3]) == nil)
        #expect(reader.read([0, 0, 0, 1, 0x67]) == nil && reader.sets.configuration == nil)
        #expect(reader.read([0, 0, 1, 0x67, 0x64, 0, 0x1F, 0xFF, 0xFF, 0, 0, 1, 0x68, 1]) == nil)
        #expect(reader.sets.configuration == nil && reader.sets.size == nil)
        #expect(AnnexBReader.units([0, 0, 1, 5, 0, 0, 0, 1, 6, 0, 0]).map(Array.init) == [[5], [6]])
    }

    @Test("Parameter sets with a bit depth near 2^32 are ignored", arguments: [Codec.h264, .hevc])
    func depths(codec: Codec) {
        // The largest Exp-Golomb code: 31 zeros, a one, and 31 ones, with emulation prevention bytes.
        let avc: [UInt8] = [0x67, 0x64, 0, 0x1F, 0xA0, 0, 0, 3, 0, 0x1F] + [UInt8](repeating: 0xFF, count: 20)
        // The profile and level take 96 bits. They are followed by 320x180 in 4:2:0 without cropping, and by the same
        // code.
        let hevc: [UInt8] =
            [0x42, 1, 0x01] + [UInt8](repeating: 0x55, count: 12) + [0xA0, 0x0A, 0x08, 0x0B, 0x50, 0, 0, 3]
            + [0, 0x0F] + [UInt8](repeating: 0xFF, count: 20)
        let unit = codec == .h264 ? avc : hevc
        var reader = AnnexBReader(codec)
        _ = reader.read([0, 0, 1] + unit + [0, 0, 1, codec == .h264 ? 0x68 : 0x44, 1, 1])
        #expect(reader.sets.configuration == nil && reader.sets.size == nil)
    }

    @Test("AAC in ADTS is converted to the same frames and configuration as in ffmpeg's MP4")
    func adts() throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        let clip = "\(path)/tone.mp4"
        _ = try ffmpeg(
            "-f", "lavfi", "-i", "sine=frequency=440:sample_rate=48000", "-t", "1", "-c:a", "aac", "-ac", "2", clip)
        let frames = ADTSFrame.frames(try ffmpeg("-i", clip, "-c", "copy", "-f", "adts", "-"))
        let isSame = try frames.flatMap(\.payload) == ffmpeg("-i", clip, "-map", "0", "-c", "copy", "-f", "data", "-")
        #expect(isSame && frames.count > 40)
        #expect(frames.allSatisfy { $0.configuration == [0x11, 0x90] && $0.sampleRate == 48_000 && $0.channels == 2 })
        #expect(ADTSFrame.frames([]).isEmpty && ADTSFrame.frames([0xFF, 0xF1, 0x50, 0x80, 0xFF, 0xFF, 0xFC]).isEmpty)
    }
}

extension AnnexBReader {
    fileprivate static func configured(by unit: [UInt8]) -> [UInt8]? {
        var reader = AnnexBReader(.h264)
        _ = reader.read(unit)
        return reader.sets.configuration
    }
}
