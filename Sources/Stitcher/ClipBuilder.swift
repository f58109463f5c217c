// SPDX-License-Identifier: Apache-2.0

internal import Media
internal import Segmenter

/// Collects the samples of a clip with their places in it, and gives them their decoding times.
struct ClipBuilder {
    private let sources: [ClipSource]
    private let plan: ClipPlan
    private var pictures: [ClipSample] = []
    private var sounds: [ClipSample] = []

    init(sources: [ClipSource], plan: ClipPlan) { (self.sources, self.plan) = (sources, plan) }

    /// Adds the samples of `run`, which lies at `place` in the clip.
    mutating func append(_ run: CopyRuns.Run, of source: Int, at place: Int64) {
        let shift = place - run.bytes.lowerBound
        for index in run.pictures {
            let sample = sources[source].pictures[index]
            pictures.append(
                ClipSample(
                    dts: 0, pts: plan.places[source].picture + sample.pts, duration: sources[source].frameDuration,
                    offset: sample.offset + shift, size: sample.size, isSync: sample.isSync))
        }
        for index in run.sounds {
            let sample = sources[source].sounds[index]
            let begin = plan.places[source].sound + sample.pts
            sounds.append(
                ClipSample(
                    dts: begin, pts: begin, duration: sample.duration, offset: sample.offset + shift,
                    size: sample.size, isSync: true))
        }
    }

    /// Adds a picture that was coded again, in the place of sample `index`.
    mutating func append(_ packet: EncodedPacket, of source: Int, shownAs index: Int, at place: Int64) {
        let pts = plan.places[source].picture + sources[source].pictures[index].pts
        pictures.append(
            ClipSample(
                dts: 0, pts: pts, duration: sources[source].frameDuration, offset: place,
                size: Int64(packet.payload.count), isSync: packet.isKeyframe))
    }

    /// Both tracks. Pictures are decoded as late as the order allows, at one distance throughout; so decoding times
    /// grow at joins, too. What the plan hides lies before the track's start. Sound that reaches beyond the last picture is cut off.
    func tracks() -> (picture: ClipTrack, sound: ClipTrack?) {
        var pictures = pictures
        let shown = pictures.map(\.pts).sorted()
        let delay = zip(shown, pictures).map { $0 - $1.pts }.max() ?? 0
        for index in pictures.indices { pictures[index].dts = shown[index] - delay }
        let picture = ClipTrack(samples: pictures, start: plan.pictures.lowerBound)

        let (base, soundBase) = (sources[0].pictureBase, sources[0].soundBase)
        let end = base.rescale(plan.pictures.upperBound, to: soundBase)
        guard var last = sounds.last else { return (picture, nil) }
        last.duration = max(1, min(last.duration, end - last.pts))
        let start = base.rescale(plan.pictures.lowerBound, to: soundBase)
        return (picture, ClipTrack(samples: Array(sounds.dropLast()) + [last], start: start))
    }
}
