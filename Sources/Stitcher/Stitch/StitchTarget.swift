// SPDX-License-Identifier: Apache-2.0

internal import LibAV
internal import Media

/// The format of all frames and all audio of the result.
struct StitchTarget: Equatable {
    var video: VideoFormat
    /// The format of the audio; nil if no clip has audio.
    var audio: AudioFormat?
    /// The orientation of the frames, and whether they are interlaced. The values differ from the defaults only if all
    /// frames are copied.
    var orientation = Orientation.upright
    var isInterlaced = false
    /// Whether all frames are copied: then their format can be one that our encoder cannot make.
    private(set) var isWhole = false

    /// Sample rates at which all players support AAC.
    private static let audioRates: Set<Int32> = [32_000, 44_100, 48_000]

    /// The target that `settings` require for `sources`; nil if `sources` is empty.
    init?(_ sources: [StitchSource], _ settings: StitchSettings) {
        guard let first = sources.first else { return nil }
        var frames = first.upright
        switch settings.size {
        case .first: break
        case .smallest:
            func pixels(_ source: StitchSource) -> Int { source.upright.width * source.upright.height }
            frames = sources.min { pixels($0) < pixels($1) }?.upright ?? frames
        case .exactly(let size):
            if size != FrameSize(width: frames.width, height: frames.height) { frames.sampleAspectRatio = .square }
            (frames.width, frames.height) = (size.width, size.height)
        }
        frames.color = first.video.frames.color.resolved(width: frames.width, height: frames.height)
        video = VideoFormat(nearestTo: frames, frameRate: settings.rate ?? first.video.rate)

        let heard = sources.compactMap(\.audio)
        audio = heard.first.map { first in
            AudioFormat(
                sampleRate: Self.audioRates.contains(first.format.sampleRate) ? first.format.sampleRate : 48_000,
                channels: heard.contains { $0.format.channels > 1 } ? 2 : 1)
        }
    }

    /// Returns the target for a result of copied frames only, with the coding of `first`; nil if this target has
    /// another frame size or sample aspect ratio than `first`.
    func whole(like first: StitchSource) -> StitchTarget? {
        let (frames, upright) = (first.video.frames, first.upright)
        guard (video.width, video.height) == (upright.width, upright.height),
            video.sampleAspectRatio == upright.sampleAspectRatio
        else { return nil }
        var target = self
        target.video = VideoFormat(nearestTo: frames, frameRate: video.frameRate)
        target.video.color = first.color
        (target.orientation, target.isInterlaced, target.isWhole) = (
            first.video.orientation, first.video.isInterlaced, true
        )
        return target
    }

    /// Whether frames that our encoder makes, in H.264, can be mixed with copied frames of all `sources`.
    func takes(_ sources: [StitchSource]) -> Bool {
        !video.color.isHDR && sources.allSatisfy { differences(of: $0, codec: "h264").isEmpty }
    }

    /// The differences between `source` and this target because of which the source's frames cannot be copied, each as
    /// a part of a sentence. `codec` is the codec of the result.
    func differences(of source: StitchSource, codec: String) -> [String] {
        let track = source.video
        var found: [String] = []
        if track.codec != codec { found.append("it is coded as \(track.codec)") }
        if let obstacle = track.obstacle, track.codec == codec { found.append(obstacle) }
        if !isWhole, track.codec == codec, !track.is8Bit420 { found.append("its frames are not of 8 bits and 4:2:0") }
        if track.orientation != orientation { found.append("it is turned (\(track.orientation.rawValue))") }
        if track.isInterlaced != isInterlaced { found.append("it is \(isInterlaced ? "not " : "")interlaced") }
        if (track.frames.width, track.frames.height) != (video.width, video.height), track.orientation == orientation {
            found.append(
                "its frames are \(track.frames.width)x\(track.frames.height), not \(video.width)x\(video.height)")
        }
        let (aspect, wanted) = (track.frames.sampleAspectRatio, video.sampleAspectRatio)
        if aspect.horizontal * wanted.vertical != wanted.horizontal * aspect.vertical {
            found.append(
                "its pixels are \(aspect.horizontal):\(aspect.vertical), not \(wanted.horizontal):\(wanted.vertical)")
        }
        found += source.color.differences(from: video.color)
        if !track.isConstant {
            found.append("its frame rate varies")
        } else if track.rate != video.frameRate {
            found.append("it has \(track.rate) frames a second, not \(video.frameRate)")
        }
        return found
    }
}

extension ColorDescription {
    /// The differences between this color description and `wanted`, each as a part of a sentence.
    fileprivate func differences(from wanted: ColorDescription) -> [String] {
        var found: [String] = []
        func compare(_ what: String, _ own: UInt8, _ other: UInt8, _ names: [UInt8: String]) {
            guard own != other else { return }
            found.append("its \(what) \(names[own] ?? "\(own)"), not \(names[other] ?? "\(other)")")
        }
        let systems: [UInt8: String] = [1: "BT.709", 6: "BT.601 (525 lines)", 7: "SMPTE 240M"]
        let others: [UInt8: String] = [5: "BT.601 (625 lines)", 9: "BT.2020"]
        let more: [UInt8: String] = [13: "sRGB", 14: "BT.2020", 15: "BT.2020", 16: "PQ (HDR)", 18: "HLG (HDR)"]
        let named = systems.merging(others) { $1 }
        compare("color primaries are", primaries, wanted.primaries, named.merging([12: "P3"]) { $1 })
        compare("transfer characteristic is", transfer, wanted.transfer, systems.merging(more) { $1 })
        compare("color matrix is", matrix, wanted.matrix, named)
        if isFullRange != wanted.isFullRange {
            found.append("its color range is \(isFullRange ? "full, not limited" : "limited, not full")")
        }
        return found
    }
}
