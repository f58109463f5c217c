// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Dispatch
internal import LibAV
internal import MP4
package import Media
internal import Synchronization

/// Identifies a thumbnail in the cache.
struct ThumbnailKey: Hashable {
    let file: ChannelArchive.MapKey
    /// The position of the frame's bytes in the file.
    let place: Int64
    let width: Int
}

extension ChannelArchive {
    /// Limits how many thumbnails are made at the same time, for all channels: the encoder needs the processor cores.
    private static let turns = DispatchSemaphore(value: 2)
    /// How long a request waits until it may make its thumbnail.
    private static let patience = DispatchTimeInterval.seconds(8)
    private static let largestFrame = 16 << 20
    /// The maximum number of frames that are decoded for one thumbnail: a GOP of 10 s at 60 frames per second.
    private static let mostDecoded = 600
    /// The maximum rounding error of a frame time that a client computes by adding times in milliseconds.
    private static let rounding = Duration.milliseconds(3)

    /// Returns a JPEG image, `width` columns wide, of a frame of the file `id`. If `isExact` is true, it is the frame
    /// that is visible `seconds` after the beginning of the file; otherwise it is a keyframe before that. `isLasting`
    /// says whether later requests get the same image, because the file does not grow any more.
    package func thumbnail(
        of id: String, at seconds: Double, width: Int, isExact: Bool
    ) throws(Refusal) -> (bytes: [UInt8], isLasting: Bool) {
        let (_, file) = try file(id)
        guard !file.isStream else { throw Refusal(.unusable, "Of MPEG-TS recordings there are no thumbnails.") }
        return try telling {
            let time = Timestamp(nanoseconds: Int64(seconds * 1e9))
            let bytes = try isExact ? frame(of: file, at: time, width) : keyframe(of: file, at: time, width)
            return (bytes, !file.isOpen)
        }
    }

    /// A JPEG image of the last keyframe of `file` at or before `time`. If there is no such
    /// keyframe, it is the first keyframe of the file. Only the first keyframe of each fragment counts.
    private func keyframe(of file: OpenFile, at time: Timestamp, _ width: Int) throws -> [UInt8] {
        let map = try map(file)
        let keyframes = map.fragments.lazy.compactMap(\.keyframe)
        guard let track = map.layout.tracks.first(where: { $0.kind == .video }),
            let keyframe = keyframes.last(where: { $0.time <= time }) ?? keyframes.first
        else { throw Self.noFrame }
        return try made(of: file, at: keyframe.bytes.lowerBound, width) {
            guard keyframe.bytes.count <= Self.largestFrame else { throw Self.tooLarge }
            let bytes = try file.descriptor.read(at: keyframe.bytes.lowerBound, count: keyframe.bytes.count)
            let packet = EncodedPacket(
                of: try track.video(), pts: 0, dts: 0, duration: 1, isKeyframe: true, payload: SharedBytes(bytes))
            return try Snapshot.jpeg(of: packet, width: width)
        }
    }

    /// A JPEG image of the frame of `file` that is visible at `time`. Decoding starts at the keyframe
    /// before that frame.
    private func frame(of file: OpenFile, at time: Timestamp, _ width: Int) throws -> [UInt8] {
        let index: SegmentIndex
        do throws(SegmentReadFailure) {
            index = try SegmentIndex.read(file.descriptor)
        } catch {
            throw Refusal(.unusable, "Of this recording keyframes alone can be shown: \(error).")
        }
        let samples = index.video.samples
        let base = TimeBase(1, Int32(clamping: index.video.timescale))
        let late = min(base.duration(index.facts.leading.sampleDuration) / 2, Self.rounding)
        let wanted = TimeBase.nanoseconds.rescale((time + late).nanoseconds, to: base, rounding: .down)
        let shown = samples.indices.filter { samples[$0].pts <= wanted }.max { samples[$0].pts < samples[$1].pts }
        guard let target = shown ?? samples.indices.min(by: { samples[$0].pts < samples[$1].pts }),
            let entry = samples[...target].lastIndex(where: \.isSync)
        else { throw Self.noFrame }
        guard target - entry < Self.mostDecoded else {
            throw Refusal(.unusable, "The frame is too far behind its keyframe.")
        }
        return try made(of: file, at: samples[target].offset, width) {
            let track = try index.video.layout.video()
            var rest = samples[entry...target]
            return try Snapshot.jpeg(of: track, at: samples[target].pts, width: width) {
                try rest.popFirst().map { try packet($0, of: track, in: file) }
            }
        }
    }

    private func packet(
        _ sample: IndexedSample, of track: TrackDescription, in file: OpenFile
    ) throws -> EncodedPacket {
        guard sample.size <= Self.largestFrame else { throw Self.tooLarge }
        return EncodedPacket(
            of: track, pts: sample.pts, dts: sample.dts, duration: sample.duration, isKeyframe: sample.isSync,
            payload: SharedBytes(try file.descriptor.read(at: sample.offset, count: Int(sample.size))))
    }

    /// Returns the cached thumbnail of the frame whose bytes begin at `place` in `file`. If the cache lacks it, waits
    /// until a thumbnail may be made, and calls `make`.
    private func made(
        of file: OpenFile, at place: Int64, _ width: Int, _ make: () throws -> [UInt8]
    ) throws -> [UInt8] {
        let key = ThumbnailKey(
            file: MapKey(name: file.closedName, number: try file.descriptor.stamp().number), place: place, width: width)
        if let known = thumbnails[key] { return known }
        guard Self.turns.wait(timeout: .now() + Self.patience) == .success else {
            throw Refusal(.unavailable, "Too many thumbnails are being made. Try again.")
        }
        defer { Self.turns.signal() }
        let made = try make()
        thumbnails[key] = made
        return made
    }

    private static let noFrame = Refusal(.notFound, "The recording has no frame that could be shown.")
    private static let tooLarge = Refusal(.unusable, "The frame is too large.")
}

/// A cache of a limited number of values. The least recently used value is removed first. Any thread may call it.
final class RecentValues<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private struct State {
        var values: [Key: (value: Value, used: UInt64)] = [:]
        var clock: UInt64 = 0
    }

    private let limit: Int
    private let state = Mutex(State())

    /// Creates a cache of at most `limit` values.
    init(limit: Int) { self.limit = limit }

    subscript(key: Key) -> Value? {
        get {
            state.withLock { state in
                state.clock += 1
                state.values[key]?.used = state.clock
                return state.values[key]?.value
            }
        }
        set {
            state.withLock { state in
                state.clock += 1
                state.values[key] = newValue.map { ($0, state.clock) }
                guard state.values.count > limit, let oldest = state.values.min(by: { $0.value.used < $1.value.used })
                else { return }
                state.values[oldest.key] = nil
            }
        }
    }
}
