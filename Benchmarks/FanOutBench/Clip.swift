// SPDX-License-Identifier: Apache-2.0

internal import LibAV
internal import Media

/// The coded packets of a file, in memory.
struct Clip {
    /// One frame, preceded by the audio up to the next frame: the packets that a program publishes at one tick.
    struct Beat {
        var audio: [EncodedPacket]
        let video: EncodedPacket
    }

    let description: StreamDescription
    let beats: [Beat]
    /// The time from the first frame to the end of the last one.
    let length: Duration

    /// Reads all of `path`, which begins with a keyframe.
    init(path: String) throws {
        let demuxer = try Demuxer(url: path, options: .init(), interrupter: Interrupter(), subject: path)
        guard let video = demuxer.bestVideo, let audio = demuxer.bestAudio, let description = demuxer.codedDescription,
            let videoTrack = description.video, let audioTrack = description.audio
        else { throw BenchError("\(path) is not H.264 with AAC in MP4 or FLV") }
        var videoPackets: [EncodedPacket] = []
        var audioPackets: [EncodedPacket] = []
        while let box = try demuxer.readPacket() {
            if box.streamIndex == video.index, let packet = box.encodedPacket(of: videoTrack) {
                videoPackets.append(packet)
            }
            if box.streamIndex == audio.index, let packet = box.encodedPacket(of: audioTrack) {
                audioPackets.append(packet)
            }
        }
        guard let first = videoPackets.first, let last = videoPackets.last, first.isKeyframe else {
            throw BenchError("\(path) does not begin with a keyframe")
        }
        self.description = description
        let distance = last.programDts - first.programDts
        length = distance + distance / max(1, videoPackets.count - 1)
        beats = Self.beats(videoPackets, audioPackets, end: first.programDts + length)
    }

    private static func beats(_ videoPackets: [EncodedPacket], _ audioPackets: [EncodedPacket], end: ProgramInstant)
        -> [Beat]
    {
        var beats = videoPackets.map { Beat(audio: [], video: $0) }
        var index = 0
        for packet in audioPackets where packet.programDts < end {
            while index + 1 < beats.count, beats[index + 1].video.programDts <= packet.programDts {
                index += 1
            }
            beats[index].audio.append(packet)
        }
        return beats
    }
}

extension EncodedPacket {
    /// The same packet, later by `delay`.
    func delayed(by delay: Duration) -> EncodedPacket { moved(by: timeBase.ticks(delay)) }
}

/// Why a measurement is not possible.
struct BenchError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
