// SPDX-License-Identifier: Apache-2.0

import Archive
import FanOut
import Media
import TestSupport
import Testing

@testable import Segmenter

/// Recordings of programs whose tracks change, or with only one track.
@Suite struct TrackTests {
    private static let rate = FrameRate(25)

    private let packets = syntheticProgram(rate: Self.rate, frames: 250, isKeyframe: { $0 % 50 == 0 })

    /// Records `packets` in files of 4 s, and returns the streams that ffprobe finds in each.
    private func record(
        _ packets: [EncodedPacket], _ stream: StreamDescription, _ format: RecordFormat
    ) throws -> (status: RecorderStatus, streams: [Set<String>]) {
        let directory = try TemporaryDirectory()
        var configuration = RecorderConfiguration(
            directory: try .prepare(directory.path), channel: "test", length: .duration(.seconds(4)))
        configuration.format = format
        let recorder = Recorder(
            configuration: configuration, description: stream, keyframes: KeyframeSpy(), logger: quiet)
        Recording(directory: directory, recorder: recorder).record(packets)
        let streams = try directory.files.map { name in
            // ffprobe lists each stream of a transport stream twice.
            Set(
                try run(
                    "ffprobe", "-v", "quiet", "-show_entries", "stream=codec_type", "-of", "csv=p=0",
                    directory.path(name)
                ).output.split(separator: "\n").map(String.init))
        }
        return (recorder.status, streams)
    }

    private func actions(_ packets: some Sequence<EncodedPacket>, _ stream: StreamDescription) -> [SegmentCutter.Action]
    {
        var cutter = SegmentCutter(length: .duration(.seconds(60)), stream: stream)
        return packets.flatMap { cutter.push($0) } + cutter.finish()
    }

    @Test func `No audio packet is lost when the coding of the video changes`() throws {
        let next = videoTrack(rate: Self.rate, avcC: [1, 77, 0, 30, 255, 224, 0])
        let changed = packets.map { $0.track == .video && $0.pts >= 100 ? $0.recoded(as: next) : $0 }
        let all = actions(changed, description(rate: Self.rate))
        let starts = all.compactMap { if case .open(let start) = $0 { start } else { nil } }
        #expect(starts.map(\.keyframe.pts) == [0, 100])
        #expect(starts.first?.keyframe.description === videoTrack(rate: Self.rate))
        #expect(starts.last?.keyframe.description === next)
        let audio = all.compactMap { action -> Int64? in
            if case .write(let packet) = action, packet.track == .audio { packet.pts } else { nil }
        }
        // One packet is in both files, hidden in the second.
        #expect(Set(audio).count == packets.count { $0.track == .audio })
        #expect(audio.count == Set(audio).count + 1)
    }

    @Test func `When audio changes its coding a keyframe is requested, and the new file has only the new coding`() {
        let next = aacTrack(asc: [0x12, 0x08])
        let changed = packets.map { $0.track == .audio && $0.pts >= 130_000 ? $0.recoded(as: next) : $0 }
        let all = actions(changed, description(rate: Self.rate))
        let starts = all.compactMap { if case .open(let start) = $0 { start } else { nil } }
        #expect(starts.map(\.keyframe.pts) == [0, 100])
        #expect(starts.last?.firstAudio?.description === next && starts.last?.preRoll?.description === next)
        let requests = all.compactMap { if case .request(nil) = $0 { true } else { nil } }
        #expect(requests.count == 1)
    }

    @Test func `Audio that begins later than the video is recorded from the next keyframe on`() {
        let late = packets.filter { $0.track == .video || $0.pts >= 130_000 }
        let all = actions(late, StreamDescription(video: videoTrack(rate: Self.rate)))
        let starts = all.compactMap { if case .open(let start) = $0 { start } else { nil } }
        #expect(starts.map(\.keyframe.pts) == [0, 100])
        #expect(starts.map { $0.firstAudio != nil } == [false, true])
    }

    @Test(arguments: RecordFormat.allCases)
    func `A camera without audio is recorded, and no cut waits for audio`(format: RecordFormat) throws {
        let stream = StreamDescription(video: videoTrack(rate: Self.rate))
        let (status, streams) = try record(packets.filter { $0.track == .video }, stream, format)
        #expect(status.segmentsFinished == 3 && status.framesWritten == 250 && status.gapCount == 0)
        #expect(streams == [["video"], ["video"], ["video"]])
    }

    @Test(arguments: RecordFormat.allCases)
    func `A program without video is recorded, and its files begin at audio packets`(format: RecordFormat) throws {
        let stream = StreamDescription(audio: audioTrack)
        let (status, streams) = try record(packets.filter { $0.track == .audio }, stream, format)
        #expect(status.segmentsFinished == 3 && status.gapCount == 0 && status.hasMedia)
        #expect(streams == [["audio"], ["audio"], ["audio"]])
    }
}
