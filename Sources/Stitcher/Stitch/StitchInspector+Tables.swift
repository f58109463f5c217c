// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import LibAV
internal import MP4
internal import Media

// The tables of a plain MP4 or MOV describe all of its packets. Besides the tables, only the beginning of each keyframe
// and a few packets are read. The packets are compared with the tables, to verify that this code and libavformat
// interpret the tables in the same way.
extension StitchInspector {
    /// The number of packets that are read for verification.
    private static let proof = 48
    /// The number of bytes at the start of a keyframe that are read; they usually include the beginning of its first
    /// slice.
    private static let headSize: Int64 = 4096

    /// Reads the packets from the tables of the file at `path`. Returns false if the tables are not sufficient. In that
    /// case the caller must discard this inspector, and read all packets with a new one.
    mutating func readTables(_ path: String, _ isCancelled: () -> Bool) throws(ClipFailure) -> Bool {
        guard isMovie, let file = try? FileDescriptor.open(readOnly: path), let size = try? file.size(),
            let orders = try? CompositionOrder.read(file), video.index < orders.count
        else { return false }
        let order = orders[video.index]
        let frames = demuxer.index(of: video)
        let heard = audio.map { demuxer.index(of: $0) } ?? []
        guard order.codings == 1, order.count == frames.count, !frames.isEmpty, audio == nil || !heard.isEmpty,
            (frames + heard).allSatisfy({ $0.position >= 0 && $0.position + $0.size <= size }),
            Self.canHold((frames + heard).map(\.dts)), let delay = try prove(frames, order, heard), try takeEnd(heard)
        else { return false }
        for (number, entry) in frames.enumerated() {
            if number.isMultiple(of: 256), isCancelled() { throw ClipFailure.cancelled }
            let offset = order.offsets.isEmpty ? 0 : Int64(order.offsets[number])
            let sample = IndexedSample(
                dts: entry.dts, pts: entry.dts + delay + offset, duration: 0, offset: entry.position,
                size: entry.size, isSync: entry.isKeyframe)
            take(sample, isHidden: entry.isHidden) { try? Self.content(entry, of: file, $0) }
        }
        audioPackets = heard.map { entry in
            IndexedSample(
                dts: entry.dts, pts: entry.dts, duration: 0, offset: entry.position, size: entry.size, isSync: true)
        }
        return true
    }

    private static func content(
        _ entry: Demuxer.IndexEntry, of file: FileDescriptor, _ isWhole: Bool
    ) throws(FileFailure) -> [UInt8] {
        try file.read(at: entry.position, count: Int(isWhole ? entry.size : min(entry.size, headSize)))
    }

    /// Reads the first packets and compares them with the tables. Returns by how many ticks all frames are shown later
    /// than the tables say; nil if the packets differ from the tables.
    private mutating func prove(
        _ frames: [Demuxer.IndexEntry], _ order: CompositionOrder, _ heard: [Demuxer.IndexEntry]
    ) throws(ClipFailure) -> Int64? {
        var (seen, listened): (Int, Int) = (0, 0)
        var delay: Int64?
        while seen < min(Self.proof, frames.count) || listened < min(2, heard.count) {
            guard let packet = try readPacket() else { return nil }
            guard packet.streamIndex == video.index else {
                guard listened < heard.count, Self.matches(packet, heard[listened]), packet.pts == packet.dts else {
                    return nil
                }
                takeHeard(packet)
                listened += 1
                continue
            }
            guard seen < frames.count, Self.matches(packet, frames[seen]), let pts = packet.pts else { return nil }
            let offset = order.offsets.isEmpty ? 0 : Int64(order.offsets[seen])
            let difference = pts - frames[seen].dts - offset
            guard delay ?? difference == difference else { return nil }
            delay = difference
            seen += 1
        }
        return delay
    }

    private static func matches(_ packet: PacketBox, _ entry: Demuxer.IndexEntry) -> Bool {
        packet.dts == entry.dts && packet.position == entry.position && Int64(packet.size) == entry.size
            && packet.isHidden == entry.isHidden && (packet.isKeyframe || !entry.isKeyframe)
    }

    /// Reads the last packet of audio, because only the packet itself shows where it ends. Returns false if the packet
    /// cannot be found.
    private mutating func takeEnd(_ heard: [Demuxer.IndexEntry]) throws(ClipFailure) -> Bool {
        guard let audio, let last = heard.last else { return true }
        demuxer.select([audio.index])
        guard (try? demuxer.seek(audio, to: last.dts)) != nil else { return false }
        // libav can seek to a packet before the last one. Packets are read until the last one is found, but at most
        // `proof` packets.
        for _ in 0..<Self.proof {
            guard let packet = try readPacket() else { return false }
            guard packet.dts == last.dts else { continue }
            takeHeard(packet)
            return true
        }
        return false
    }
}
