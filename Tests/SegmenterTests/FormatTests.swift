// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Media
import TestSupport
import Testing

@testable import Archive
@testable import MP4
@testable import Segmenter

/// Returns the fields of each packet that ffprobe finds, one packet per line.
private func packets(_ path: String, _ stream: String, _ fields: String = "size") throws -> [String] {
    try run(
        "ffprobe", "-v", "error", "-select_streams", stream, "-show_entries", "packet=\(fields)", "-of", "csv=p=0", path
    ).output.split(separator: "\n").map { String($0).trimmingCharacters(in: CharacterSet(charactersIn: ",")) }
}

@Suite struct FormatTests {
    private func record(
        _ source: FLVFile, _ format: RecordFormat, in directory: TemporaryDirectory, seconds: Int64
    ) throws -> [String] {
        var configuration = RecorderConfiguration(
            directory: try .prepare(directory.path), channel: "test", length: .duration(.seconds(seconds)))
        configuration.format = format
        let recorder = Recorder(
            configuration: configuration, description: source.description, keyframes: KeyframeSpy(), logger: quiet)
        Recording(directory: directory, recorder: recorder).record(source.packets)
        #expect(directory.files.allSatisfy { $0.hasSuffix(format.fileExtension) })
        return directory.files.map(directory.path)
    }

    /// Returns the audio packets that do not precede the first frame.
    private func audioPackets(_ source: FLVFile) -> [EncodedPacket] {
        source.packets.filter { $0.track == .audio && $0.pts >= 0 }
    }

    @Test func `Transport stream files contain every packet once and can be concatenated`() throws {
        let (work, directory) = (try TemporaryDirectory(), try TemporaryDirectory())
        let source = try FLVFile.generate(in: work, rate: FrameRate(30000, 1001), seconds: 10)
        let files = try record(source, .ts, in: directory, seconds: 4)
        #expect(files.count == 3)
        let videoPackets = source.packets.filter { $0.track == .video }
        var times: [Int64] = []
        for file in files {
            let data = try Data(contentsOf: URL(fileURLWithPath: file))
            #expect(data.count % 188 == 0 && stride(from: 0, to: data.count, by: 188).allSatisfy { data[$0] == 0x47 })
            let decoded = try run("ffmpeg", "-v", "error", "-i", file, "-f", "null", "-")
            #expect(decoded.status == 0 && decoded.output.isEmpty, "\(decoded.output)")
            #expect(try packets(file, "v", "flags").first?.hasPrefix("K") == true)
            times += try packets(file, "v", "pts").compactMap { Int64($0) }
        }
        let zero = try #require(times.first)
        let expected = videoPackets.map { $0.timeBase.rescale($0.pts - videoPackets[0].pts, to: .mpegTS) }
        #expect(times.count == expected.count)
        #expect(zip(times, expected).allSatisfy { abs($0 - zero - $1) <= 1 })
        let heard = try files.reduce(0) { try $0 + packets($1, "a").count }
        #expect(heard == audioPackets(source).count)
        let joined = work.path("joined.ts")
        _ = try run("sh", "-c", "cat \(files.joined(separator: " ")) > \(joined)")
        #expect(try packets(joined, "v").count == videoPackets.count)
    }

    @Test func `A transport stream file that a crash left open is truncated to complete packets`() throws {
        let (work, directory) = (try TemporaryDirectory(), try TemporaryDirectory())
        let source = try FLVFile.generate(in: work, rate: FrameRate(25), seconds: 3)
        let path = try #require(try record(source, .ts, in: directory, seconds: 60).first)
        let whole = try Data(contentsOf: URL(fileURLWithPath: path))
        let torn: [(Data, Int)] = [
            (whole.prefix(188 * 100 + 77), 188 * 100), (whole + Data(count: 188 * 5000 + 3), whole.count),
            (whole, whole.count),
        ]
        for (bytes, length) in torn {
            try FileManager.default.removeItem(atPath: path)
            try bytes.write(to: URL(fileURLWithPath: path + ".part"))
            let outcome = try SegmentRecovery.run(in: .prepare(directory.path), channel: "test").first?.outcome
            #expect(outcome == .renamed(fileName: directory.files[0]))
            #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == whole.prefix(length))
        }
        try FileManager.default.removeItem(atPath: path)
        try Data(count: 1000).write(to: URL(fileURLWithPath: path + ".part"))
        guard case .setAside = try SegmentRecovery.run(in: .prepare(directory.path), channel: "test").first?.outcome
        else {
            Issue.record("\(directory.files)")
            return
        }
    }

    @Test func `A fragmented file stays fragmented when it is closed, and its index lists every keyframe`() throws {
        let (work, directory) = (try TemporaryDirectory(), try TemporaryDirectory())
        let source = try FLVFile.generate(in: work, rate: FrameRate(30000, 1001), seconds: 10)
        let files = try record(source, .fragmented, in: directory, seconds: 5)
        #expect(files.count == 2)
        var (sizes, heard): ([Int], [Int]) = ([], [])
        for file in files {
            let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: file)))
            #expect(bytes.starts(with: MovieBox.openHead))
            let size = bytes.suffix(4).reduce(0) { $0 << 8 | Int($1) }
            var index = try BoxReader(bytes.suffix(size)).first("mfra").first("tfra")
            _ = try index.take(12)
            let count = Int(try index.u32())
            let keyframes = try packets(file, "v", "flags").count { $0.hasPrefix("K") }
            #expect(count == keyframes)
            for _ in 0..<count {
                _ = try index.take(8)
                let offset = Int(try index.take(8).reduce(0) { $0 << 8 | UInt64($1) })
                #expect(bytes[offset + 4..<offset + 8].elementsEqual("moof".utf8))
                _ = try index.take(6)
            }
            sizes += try packets(file, "v").compactMap { Int($0) }
            heard += try packets(file, "a").compactMap { Int($0) }
            let decoded = try run("ffmpeg", "-v", "error", "-i", file, "-f", "null", "-")
            #expect(decoded.status == 0 && decoded.output.isEmpty, "\(decoded.output)")
            let seek = try run("ffmpeg", "-v", "error", "-ss", "3", "-i", file, "-frames:v", "1", "-f", "null", "-")
            #expect(seek.status == 0 && seek.output.isEmpty, "\(seek.output)")
        }
        #expect(sizes == source.packets.filter { $0.track == .video }.map(\.payload.count))
        #expect(heard == audioPackets(source).map(\.payload.count))
    }

    /// Fragments of a program, some seconds of 29.97 fps with B-frames, lie on both sides of 4 GiB in a sparse file,
    /// which takes no space.
    @Test func `In a recording over 4 GiB, ffprobe finds every packet at its stated position`() throws {
        let (work, directory) = (try TemporaryDirectory(), try TemporaryDirectory())
        let source = try FLVFile.generate(in: work, rate: FrameRate(30000, 1001), seconds: 8)
        let videoPackets = source.packets.filter { $0.track == .video }
        let audioPackets = audioPackets(source)
        #expect(videoPackets.contains { $0.pts != $0.dts })
        let start = SegmentStart(keyframe: videoPackets[0], firstAudio: audioPackets[0])
        let settings = SegmentFileSettings(
            directory: directory.path, name: SegmentName(channel: "c", start: UTCTime(milliseconds: 0), sequence: 1),
            description: source.description,
            tags: MovieTags(channel: "c", start: UTCTime(milliseconds: 0), encoderSettings: ""),
            fragmentDuration: .seconds(1))
        var container = MovieContainer(settings, start: start)
        let file = try FileDescriptor.create(directory.path("large.mp4"))
        try file.write([SharedBytes(container.head())], at: 0)
        var end = Int64(container.head().count)
        var places: [Int64] = []
        for (index, first) in stride(from: 0, to: videoPackets.count, by: 15).enumerated() {
            // Puts a hole of one gigabyte before each fragment, so that the fifth is beyond 4 GiB.
            if index > 0 { end += 1 << 30 }
            let part = Array(videoPackets[first..<min(first + 15, videoPackets.count)])
            let next = first + 15 < videoPackets.count ? videoPackets[first + 15] : nil
            let share = Array(
                audioPackets[
                    first * audioPackets.count / videoPackets.count..<min(first + 15, videoPackets.count)
                        * audioPackets.count
                        / videoPackets.count])
            let pieces = container.fragment(part, share, next: next, at: end)
            try file.write(pieces, at: end)
            container.wrote()
            var place = end + Int64(pieces[0].count)
            for packet in part {
                places.append(place)
                place += Int64(packet.payload.count)
            }
            end += pieces.reduce(0) { $0 + Int64($1.count) }
        }
        let size = try container.appendIndex(file, mediaEnd: end, ending: .stop)
        try container.seal(file, mediaEnd: end, size: size, isDurable: false)
        #expect(size > 15 << 30)
        let shift = TrackClock(timescale: 30000).ticks(videoPackets[0].pts, videoPackets[0])
        let expected = zip(videoPackets, places).map { packet, place in
            let clock = TrackClock(timescale: 30000)
            return "\(clock.ticks(packet.pts, packet) - shift),\(clock.ticks(packet.dts, packet) - shift),"
                + "\(packet.payload.count),\(place),\(packet.isKeyframe ? "K_" : "__")"
        }
        #expect(try packets(directory.path("large.mp4"), "v", "pts,dts,size,pos,flags") == expected)
        #expect(try packets(directory.path("large.mp4"), "a").count == audioPackets.count)
    }

    @Test func `When the coding changes, a new file begins and no frame is lost`() throws {
        let directory = try TemporaryDirectory()
        let rate = FrameRate(25)
        let recording = try Recording(
            description(rate: rate), length: .duration(.seconds(60)), directory: directory)
        let packets = syntheticProgram(rate: rate, frames: 250, isKeyframe: { $0 % 50 == 0 })
        let cut = try #require(packets.firstIndex { $0.track == .video && $0.pts == 100 })
        let next = videoTrack(rate: rate, avcC: [1, 77, 0, 30, 255, 224, 0])
        recording.feed(packets[..<cut])
        recording.feed(packets[cut...].map { $0.track == .video ? $0.recoded(as: next) : $0 })
        recording.finish()
        let status = recording.recorder.status
        #expect(status.segmentsFinished == 2 && status.framesWritten == 250 && status.gapCount == 0)
        let heads = try recording.finished.map { [UInt8](try Data(contentsOf: URL(fileURLWithPath: $0))) }
        #expect(BoxReader.positions(of: [1, 100, 0, 31], in: heads[0]).isEmpty == false)
        #expect(BoxReader.positions(of: [1, 77, 0, 30], in: heads[1]).isEmpty == false)
        #expect(BoxReader.positions(of: [1, 77, 0, 30], in: heads[0]).isEmpty)
    }
}
