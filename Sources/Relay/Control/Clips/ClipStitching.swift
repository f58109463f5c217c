// SPDX-License-Identifier: Apache-2.0

internal import Control
internal import Media
internal import Networking
internal import Program
internal import Stitcher

/// Puts clips of what was recorded one behind the other.
struct ClipStitching {
    let clips: [StitchedClip]
    /// Where their files are.
    let archive: ChannelArchive
    /// The path of their directory.
    let directory: String

    /// What lies in which file: a clip that lies in two is two pieces.
    var pieces: [StitchClip] {
        get throws {
            var pieces: [StitchClip] = []
            for clip in clips {
                let found = Self.pieces(of: clip, try archive.files(ofRun: clip.clip.run), in: directory)
                guard !found.isEmpty else {
                    throw ClipFailure("Nothing of \(clip.title ?? "the clip") is recorded any more.")
                }
                pieces += found
            }
            return pieces
        }
    }

    static func pieces(of clip: StitchedClip, _ files: [RunFile], in directory: String) -> [StitchClip] {
        ClipProject.pieces(clip.clip.times, frame: clip.clip.frameDuration, files).enumerated().map { index, piece in
            var one = StitchClip(
                path: "\(directory)/\(piece.opened)", from: .nanoseconds(piece.start),
                to: .nanoseconds(piece.start + piece.length))
            (one.title, one.audioOffset) = (clip.title, clip.audioOffset)
            if index == 0 { one.transition = clip.transition.flatMap(StitchTransition.init) }
            return one
        }
    }
}

extension StitchTransition {
    /// As people ask for it; nil for a cut.
    fileprivate init?(_ request: TransitionRequest) {
        let seconds = request.seconds ?? 1
        guard request.type != .cut, seconds > 0 else { return nil }
        self.init(Transition(request.type, easing: request.easing ?? .linear), duration: .seconds(seconds))
    }
}
