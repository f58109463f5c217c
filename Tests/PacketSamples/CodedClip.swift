// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import LibAV
package import Media

/// A test video with a tone, coded by ffmpeg, as packets to pass through. They represent a sender that does not use
/// relay's encoder.
package struct CodedClip {
    package let description: StreamDescription
    /// The packets in the order of the file, which is that of decoding times.
    package let packets: [EncodedPacket]

    /// Two seconds at 25 frames, a keyframe each second, coded by these encoders, in a file named `name` in `directory`;
    /// the name's extension says which container. `options` are ffmpeg's.
    package init(
        video: String, audio: String, options: [String] = [], name: String = "clip.mp4", in directory: String
    ) throws {
        let path = "\(directory)/\(name)"
        var arguments = [
            "ffmpeg", "-v", "error", "-nostdin", "-y", "-f", "lavfi", "-i", "testsrc=size=320x180:rate=25", "-f",
            "lavfi", "-i", "sine=frequency=440:sample_rate=48000", "-t", "2", "-pix_fmt", "yuv420p", "-g", "25",
        ]
        arguments += ["-c:v", video, "-c:a", audio, "-ac", "2", "-b:a", "128k"] + options + [path]
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = arguments
        process.standardInput = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw Failure(text: "ffmpeg made no \(path)") }
        try self.init(path: path)
    }

    /// The clip in the file `path`.
    package init(path: String) throws {
        let demuxer = try Demuxer(url: path, options: .init(), interrupter: Interrupter(), subject: path)
        guard let first = demuxer.bestVideo, let second = demuxer.bestAudio, let video = first.codedTrack(),
            var audio = second.codedTrack()
        else { throw Failure(text: "\(path) cannot be passed through") }
        var packets: [EncodedPacket] = []
        var isFirst = true
        while let box = try demuxer.readPacket() {
            if box.streamIndex == first.index, let packet = box.encodedPacket(of: video) { packets.append(packet) }
            guard box.streamIndex == second.index, var packet = box.encodedPacket(of: audio) else { continue }
            if isFirst, let track = second.codedTrack(firstPayload: packet.payload.array) {
                (audio, isFirst) = (track, false)
                packet = packet.recoded(as: track)
            }
            packets.append(packet)
        }
        self.packets = packets
        description = StreamDescription(video: video, audio: audio)
    }

    /// The payloads of a track.
    package func payloads(_ kind: TrackKind) -> [[UInt8]] {
        packets.filter { $0.track == kind }.map(\.payload.array)
    }

    private struct Failure: Error, CustomStringConvertible {
        let text: String
        var description: String { text }
    }
}
