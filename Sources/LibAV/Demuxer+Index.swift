// SPDX-License-Identifier: Apache-2.0

internal import CFFmpeg
internal import Media

extension Demuxer {
    /// One packet in the container's index.
    package struct IndexEntry: Sendable, Equatable {
        /// Offset of the packet's first byte in the file.
        package var position: Int64
        /// Size in bytes.
        package var size: Int64
        /// Decoding time in ticks of the stream.
        package var dts: Int64
        /// Whether the container marks the packet as a point where decoding can start.
        package var isKeyframe: Bool
        /// Whether the packet's frame must be decoded but not shown.
        package var isHidden: Bool
    }

    /// The container's index of `stream` in decoding order. It is empty or incomplete if the container has no complete
    /// index.
    package func index(of stream: StreamInfo) -> [IndexEntry] {
        guard stream.index < Int(context.pointee.nb_streams), let found = context.pointee.streams?[stream.index] else {
            return []
        }
        let count = relay_index_count(found)
        var entries: [IndexEntry] = []
        entries.reserveCapacity(Int(count))
        var (position, time, size, flags): (Int64, Int64, Int32, Int32) = (0, 0, 0, 0)
        for number in 0..<count where relay_index_entry(found, number, &position, &time, &size, &flags) {
            entries.append(
                IndexEntry(
                    position: position, size: Int64(size), dts: time, isKeyframe: flags & AVINDEX_KEYFRAME != 0,
                    isHidden: flags & AVINDEX_DISCARD_FRAME != 0))
        }
        return entries
    }

    /// Whether an MP4 file ends before the end of the last packet in the index of `stream`; false for other formats.
    /// Asks for the file's present size.
    package func isCutOff(_ stream: StreamInfo) -> Bool {
        // Containers other than MP4 have an incomplete index, or none.
        guard formatName.contains("mp4"), let file = context.pointee.pb, stream.index < Int(context.pointee.nb_streams),
            let found = context.pointee.streams?[stream.index]
        else { return false }
        let (bytes, count) = (avio_size(file), relay_index_count(found))
        var (position, time, size, flags): (Int64, Int64, Int32, Int32) = (0, 0, 0, 0)
        guard bytes > 0, count > 0, relay_index_entry(found, count - 1, &position, &time, &size, &flags) else {
            return false
        }
        return position > bytes - Int64(size)
    }

    /// The time at which `packet` ends, whatever its stream is; nil if its times are unknown.
    package func end(of packet: PacketBox) -> Duration? {
        guard packet.streamIndex < Int(context.pointee.nb_streams), let pts = packet.pts ?? packet.dts,
            let base = context.pointee.streams?[packet.streamIndex]?.pointee.time_base.asTimeBase
        else { return nil }
        return base.duration(pts &+ packet.duration)
    }

    /// The number of tracks of each kind; attached images do not count.
    package var trackCounts: (video: Int, audio: Int, subtitles: Int) {
        var counts = (video: 0, audio: 0, subtitles: 0)
        for index in 0..<Int(context.pointee.nb_streams) {
            guard let stream = context.pointee.streams?[index] else { continue }
            switch stream.pointee.codecpar?.pointee.codec_type {
            case AVMEDIA_TYPE_VIDEO where stream.pointee.disposition & AV_DISPOSITION_ATTACHED_PIC == 0:
                counts.video += 1
            case AVMEDIA_TYPE_AUDIO: counts.audio += 1
            case AVMEDIA_TYPE_SUBTITLE: counts.subtitles += 1
            default: break
            }
        }
        return counts
    }
}
