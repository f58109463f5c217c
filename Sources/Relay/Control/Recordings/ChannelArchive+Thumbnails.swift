// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Control
internal import Dispatch
internal import LibAV
internal import MP4
internal import Media

/// A frame that was asked for.
struct ThumbnailKey: Hashable {
    let file: ChannelArchive.MapKey
    /// Where the keyframe lies in the file.
    let place: Int64
    let width: Int
}

extension ChannelArchive {
    /// So many are made at a time, of all channels: the encoder needs the cores.
    private static let turns = DispatchSemaphore(value: 2)
    /// How long somebody waits for a turn.
    private static let patience = DispatchTimeInterval.seconds(8)
    private static let largestFrame = 16 << 20

    func thumbnail(
        of id: String, at seconds: Double, width: Int
    ) throws(ControlFailure) -> (bytes: [UInt8], isLasting: Bool) {
        let (_, file) = try file(id)
        guard !file.isStream else {
            throw ControlFailure(.unusable, "Of MPEG-TS recordings there are no thumbnails.")
        }
        return try telling {
            let map = try map(file)
            let time = Int64(seconds * 1e9)
            let keyframes = map.fragments.lazy.compactMap(\.keyframe)
            guard let track = map.layout.tracks.first(where: { $0.kind == .video }),
                let keyframe = keyframes.last(where: { $0.time <= time }) ?? keyframes.first
            else { throw ControlFailure(.notFound, "The recording has no frame that could be shown.") }
            let key = ThumbnailKey(
                file: MapKey(name: file.closedName, number: try file.descriptor.stamp().number),
                place: keyframe.bytes.lowerBound, width: width)
            if let known = thumbnails[key] { return (known, !file.isOpen) }
            guard keyframe.bytes.count <= Self.largestFrame else {
                throw ControlFailure(.unusable, "The frame is too large.")
            }
            guard Self.turns.wait(timeout: .now() + Self.patience) == .success else {
                throw ControlFailure(.unavailable, "Too many thumbnails are being made. Try again.")
            }
            defer { Self.turns.signal() }
            let bytes = try file.descriptor.read(at: keyframe.bytes.lowerBound, count: keyframe.bytes.count)
            let packet = EncodedPacket(
                of: try track.video(), pts: 0, dts: 0, duration: 1, isKeyframe: true, payload: SharedBytes(bytes))
            let made = try Snapshot.jpeg(of: packet, width: width)
            thumbnails[key] = made
            return (made, !file.isOpen)
        }
    }
}
