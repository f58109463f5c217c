// SPDX-License-Identifier: Apache-2.0

internal import CFFmpeg

extension Demuxer {
    /// The bytes of a transport stream in a file whose coding or PIDs change in the part that was probed; nil for all
    /// other inputs. The streams of this demuxer are a mixture of those in front of the change and behind it, so
    /// another demuxer must read these bytes instead.
    package var wholeFileWithChange: TransportStreamBytes? {
        maps?.wholeFile(ifChangedIn: context.pointee.probesize, following: Set(streams.map(\.id)))
    }

    /// The offset of the next byte that libavformat takes from the file.
    var position: Int64 { context.pointee.pb.map { max(0, avio_skip($0, 0)) } ?? 0 }

    /// If the program map of a file has changed a coding since the byte `place`, makes the file end for libavformat at
    /// the current position. libavformat then returns the packets that it holds.
    func lookForChange(from place: Int64) {
        if maps?.note(context, from: place, following: followedPIDs) == true { endFile() }
    }

    /// Called after a seek. If the next program map has another coding than the first map of the file, makes the file
    /// end for libavformat at the current position.
    func lookForChangeAfterSeek() {
        if maps?.noteSeek(context, to: position, following: followedPIDs) == true { endFile() }
    }

    /// The PIDs of the selected streams; nil for all.
    private var followedPIDs: Set<Int>? {
        let selected = continuations.selected.compactMap { context.pointee.streams?[$0]?.pointee.id }
        return selected.isEmpty ? nil : Set(selected.map(Int.init))
    }

    private func endFile() {
        guard let bytes = context.pointee.pb else { return }
        // The buffer is emptied, but the read position stays the same. If it changed, libavformat's demuxer would drop
        // the packets that are not complete yet, as after a seek.
        bytes.pointee.pos -= Int64(bytes.pointee.buf_end - bytes.pointee.buf_ptr)
        bytes.pointee.buf_ptr = bytes.pointee.buf_end
        bytes.pointee.read_packet = { _, _, _ in relay_averror_eof }
    }
}
