// SPDX-License-Identifier: Apache-2.0

internal import LibAV
internal import Logging
internal import Media

/// Finds out what the video of an input looks like if probing saw no keyframe of it, as in a stream that was joined between
/// two of them: reads on until the first frame can be decoded. Used by one thread.
struct VideoDiscovery {
    /// How long that may take: the longest distance of keyframes that is usual (10 s), and a little more.
    static let patience = Duration.seconds(12)
    /// How many bytes are read at most (64 MiB): 12 s at 40 Mbit/s.
    static let byteLimit = 64 << 20

    private let demuxer: Demuxer
    private let name: String
    private let isLive: Bool
    private let monitor: SourceMonitor
    private let clock: any MonotonicClock

    /// A look at the input that errors and logs call `name`.
    init(
        _ demuxer: Demuxer, of name: String, isLive: Bool, monitor: SourceMonitor,
        clock: any MonotonicClock = SystemClock()
    ) {
        (self.demuxer, self.name, self.isLive, self.monitor, self.clock) = (demuxer, name, isLive, monitor, clock)
    }

    /// `stream` with its size, shape and color. It is returned as it is if it says them already, or if nothing of it can be
    /// decoded in time; the log says so then. The demuxer delivers what was read once more; of a live input from the
    /// keyframe on, because nothing before it can be shown. Blocks.
    func complete(_ stream: StreamInfo) throws(IngestError) -> StreamInfo {
        guard let video = stream.video, video.width <= 0 || video.height <= 0,
            let decoder = try? Decoder(stream, threading: .slices, subject: name)
        else { return stream }
        monitor.isDescribing = true
        let deadline = clock.now + Self.patience.inNanoseconds
        var (errors, packets, bytes): (ReadErrors, [PacketBox], Int) = (ReadErrors(), [], 0)
        defer { demuxer.putBack(packets) }
        while !monitor.isStopped, clock.now < deadline, bytes < Self.byteLimit {
            guard let packet = try read(&errors) else {
                if demuxer.transportStream?.isChanged == true {
                    throw IngestError.unreadable(input: name, reason: "its coding changed while it was opened")
                }
                // The end: the decoder gives out what it holds.
                try? decoder.send(nil)
                guard let frame = frame(of: decoder) else { break }
                return stream.described(by: frame, rate: decoder.statedRate, reordered: decoder.reorderedFrames)
            }
            packets.append(packet)
            bytes += packet.size
            guard packet.streamIndex == stream.index else { continue }
            // What cannot be decoded refers to frames that did not come.
            try? decoder.send(packet)
            guard let frame = frame(of: decoder) else { continue }
            if isLive { packets = Self.decodable(packets, of: stream, with: frame) }
            return stream.described(by: frame, rate: decoder.statedRate, reordered: decoder.reorderedFrames)
        }
        if !monitor.isStopped { warn() }
        return stream
    }

    /// The next packet, past what is damaged; nil at the end.
    private func read(_ errors: inout ReadErrors) throws(IngestError) -> PacketBox? {
        while !monitor.isStopped {
            do throws(AVFailure) {
                let packet = try demuxer.readPacket()
                errors.noteSuccess()
                return packet
            } catch {
                switch errors.judge(error) {
                case .stop: return nil
                case .wait: monitor.pause(.milliseconds(5))
                case .skip: monitor.noteDamage(error)
                case .fail: throw IngestError.unreadable(input: name, reason: error.message)
                }
            }
        }
        return nil
    }

    private func frame(of decoder: Decoder) -> DecodedFrame? {
        guard case .frame(let frame)? = try? decoder.receive() else { return nil }
        return frame
    }

    /// What of `packets` came with the keyframe that `frame` was decoded from, or behind it.
    private static func decodable(
        _ packets: [PacketBox], of stream: StreamInfo, with frame: DecodedFrame
    ) -> [PacketBox] {
        let keyframe = packets.lastIndex { packet in
            guard packet.streamIndex == stream.index, packet.isKeyframe else { return false }
            guard let time = packet.pts, let shown = frame.pts else { return true }
            return time <= shown
        }
        return keyframe.map { Array(packets[$0...]) } ?? packets
    }

    private func warn() {
        let usual = VideoFormat.usual
        monitor.logger.warning(
            "the video's size is not known, because no frame of it could be decoded",
            metadata: [
                "input": "\(name)", "waited_s": "\(Self.patience.components.seconds)",
                "assumed": "\(usual.width)x\(usual.height)",
            ])
    }
}
