// SPDX-License-Identifier: Apache-2.0

internal import LibAV
internal import Logging
internal import Media

/// Finds the size of an input's video if libav's probing found no keyframe, for example because the stream was joined
/// between two keyframes. Reads further packets until the first frame can be decoded. Used by one thread.
struct VideoDiscovery {
    /// The maximum duration of the discovery: the longest usual distance of keyframes (10 s), and a margin of 2 s.
    static let patience = Duration.seconds(12)
    /// The maximum number of bytes that are read (64 MiB): enough for 12 s at 40 Mbit/s.
    static let byteLimit = 64 << 20

    private let demuxer: Demuxer
    private let name: String
    private let isLive: Bool
    private let monitor: SourceMonitor
    private let clock: any MonotonicClock

    /// Creates a discovery for an input. `name` is the input's name in error messages and logs.
    init(
        _ demuxer: Demuxer, of name: String, isLive: Bool, monitor: SourceMonitor,
        clock: any MonotonicClock = SystemClock()
    ) {
        (self.demuxer, self.name, self.isLive, self.monitor, self.clock) = (demuxer, name, isLive, monitor, clock)
    }

    /// Returns `stream` with its size, shape and color. Returns `stream` unchanged if its size is already known, or if
    /// no decoder can be made. If no frame can be decoded in time, logs this and also returns `stream` unchanged.
    /// Afterwards the demuxer delivers again all packets that were read here. For a live input it delivers them only
    /// from the keyframe on, because no earlier packet can be shown. Blocks.
    func complete(_ stream: StreamInfo) throws(IngestError) -> StreamInfo {
        guard let video = stream.video, video.width <= 0 || video.height <= 0,
            let decoder = try? Decoder(
                stream, threading: .slices, mostPixels: isLive ? LargestFrame.pixels : nil, subject: name)
        else { return stream }
        monitor.isDescribing = true
        let deadline = clock.now + Self.patience
        var (errors, packets, bytes): (ReadErrors, [PacketBox], Int) = (ReadErrors(), [], 0)
        defer { demuxer.putBack(packets) }
        while !monitor.isStopped, clock.now < deadline, bytes < Self.byteLimit {
            guard let packet = try read(&errors) else {
                if demuxer.transportStream?.isChanged == true {
                    throw IngestError.unreadable(input: name, reason: "its coding changed while it was opened")
                }
                // The input has ended. Draining the decoder makes it output the frames that it retains.
                try? decoder.send(nil)
                guard let frame = frame(of: decoder) else { break }
                return stream.described(by: frame, rate: decoder.statedRate, reordered: decoder.reorderedFrames)
            }
            packets.append(packet)
            bytes += packet.size
            guard packet.streamIndex == stream.index else { continue }
            // Errors are ignored: a packet that cannot be decoded refers to frames that were sent before the stream was
            // joined.
            try? decoder.send(packet)
            guard let frame = frame(of: decoder) else { continue }
            if isLive { packets = Self.decodable(packets, of: stream, with: frame) }
            return stream.described(by: frame, rate: decoder.statedRate, reordered: decoder.reorderedFrames)
        }
        if !monitor.isStopped { warn() }
        return stream
    }

    /// Reads the next packet, and skips damaged data. Returns nil at the end.
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

    /// Returns `packets` without those before the keyframe at which the decoding of `frame` began.
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
