// SPDX-License-Identifier: Apache-2.0

package import Media
package import Segmenter

/// A recording's file as a plan sees it: when it was on air, where it lies in its program, and its samples.
package struct ClipSource: Sendable {
    /// The file's name, for sentences about it.
    package var name: String
    /// When its first picture was on air: milliseconds since 1970-01-01T00:00:00Z.
    package var start: Int64
    /// The run of the recorder that made it, and where it lies in that run's program, in nanoseconds.
    package var position: SegmentPosition?
    /// Ticks a second of the picture and of the sound.
    package var pictureBase: TimeBase
    package var soundBase: TimeBase
    /// Ticks that one picture lasts.
    package var frameDuration: Int64
    /// The samples in the order of decoding, in ticks from the first picture on.
    package var pictures: [IndexedSample]
    package var sounds: [IndexedSample]
    /// Ticks until the last picture ends.
    package var pictureEnd: Int64
    /// Where the sound that is heard begins.
    package var soundStart: Int64

    /// A source of these properties.
    package init(
        name: String, start: Int64, position: SegmentPosition?, timescales: (picture: Int32, sound: Int32),
        frameDuration: Int64, pictures: [IndexedSample], sounds: [IndexedSample], soundStart: Int64
    ) {
        (self.name, self.start, self.position) = (name, start, position)
        pictureBase = TimeBase(1, timescales.picture)
        soundBase = TimeBase(1, timescales.sound)
        (self.frameDuration, self.pictures, self.sounds) = (frameDuration, pictures, sounds)
        self.soundStart = soundStart
        pictureEnd = (pictures.map(\.pts).max() ?? 0) + frameDuration
    }

    /// What the file `name` holds.
    package init(name: String, _ index: SegmentIndex) {
        let scales = (
            Int32(clamping: index.picture.timescale), Int32(clamping: index.sound?.timescale ?? 48_000)
        )
        self.init(
            name: name, start: index.facts.start.milliseconds, position: index.facts.position, timescales: scales,
            frameDuration: index.facts.picture.sampleDuration, pictures: index.picture.samples,
            sounds: index.sound?.samples ?? [], soundStart: index.facts.sound?.offset ?? 0)
    }

    /// When the last picture ended.
    var end: Int64 { start + pictureBase.rescale(pictureEnd, to: .milliseconds) }
}

/// Why no clip could be made, in one sentence.
package struct ClipFailure: Error, Sendable, Equatable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}
