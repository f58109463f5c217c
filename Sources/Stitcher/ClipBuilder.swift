// SPDX-License-Identifier: Apache-2.0

internal import MP4
internal import Media

/// Collects the samples of a clip with their places in it, and gives them their decoding times.
struct ClipBuilder {
    private let sources: [ClipSource]
    private let plan: ClipPlan
    private var frames: [IndexedSample] = []
    private var audio: [IndexedSample] = []

    init(sources: [ClipSource], plan: ClipPlan) { (self.sources, self.plan) = (sources, plan) }

    /// Adds the samples of `run`, which lies at `place` in the clip.
    mutating func append(_ run: CopyRuns.Run, of source: Int, at place: Int64) {
        let shift = place - run.bytes.lowerBound
        for index in run.frames {
            let sample = sources[source].video[index]
            frames.append(
                IndexedSample(
                    dts: 0, pts: plan.places[source].video + sample.pts, duration: sources[source].frameDuration,
                    offset: sample.offset + shift, size: sample.size, isSync: sample.isSync))
        }
        for index in run.audio {
            let sample = sources[source].audio[index]
            let begin = plan.places[source].audio + sample.pts
            audio.append(
                IndexedSample(
                    dts: begin, pts: begin, duration: sample.duration, offset: sample.offset + shift,
                    size: sample.size, isSync: true))
        }
    }

    /// Adds a frame that was coded again, in the place of sample `index`.
    mutating func append(_ packet: EncodedPacket, of source: Int, shownAs index: Int, at place: Int64) {
        let pts = plan.places[source].video + sources[source].video[index].pts
        frames.append(
            IndexedSample(
                dts: 0, pts: pts, duration: sources[source].frameDuration, offset: place,
                size: Int64(packet.payload.count), isSync: packet.isKeyframe))
    }

    /// Both tracks. Frames are decoded as late as the order allows, at one distance throughout; so decoding times
    /// grow at joins, too. What the plan hides lies before the track's start. Audio that reaches beyond the last frame is cut off.
    func tracks() -> (video: ClipTrack, audio: ClipTrack?) {
        var frames = frames
        let shown = frames.map(\.pts).sorted()
        let delay = zip(shown, frames).map { $0 - $1.pts }.max() ?? 0
        for index in frames.indices { frames[index].dts = shown[index] - delay }
        let video = ClipTrack(samples: frames, start: plan.frames.lowerBound)

        let (base, audioBase) = (sources[0].videoBase, sources[0].audioBase)
        let end = base.rescale(plan.frames.upperBound, to: audioBase)
        guard var last = audio.last else { return (video, nil) }
        last.duration = max(1, min(last.duration, end - last.pts))
        let start = base.rescale(plan.frames.lowerBound, to: audioBase)
        return (video, ClipTrack(samples: Array(audio.dropLast()) + [last], start: start))
    }
}
