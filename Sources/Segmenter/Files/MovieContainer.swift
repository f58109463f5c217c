// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import MP4
internal import Media

/// Writes MP4: a `ftyp` box, a `free` box of 16 bytes, a `moov` box with `mvex`, then a `moof` and an `mdat` box for
/// each fragment.
///
/// When a hybrid file is closed, a complete `moov` is appended, and the head is overwritten: the `free` box becomes the
/// header of one `mdat` box that contains everything up to the new `moov`. No media is copied. When a file of the
/// format `fragmented` is closed, it gets an index of its fragments instead.
struct MovieContainer: SegmentContainer {
    private let isHybrid: Bool
    private var layout: MovieLayout
    private var tags: MovieTags
    private var tables: [UInt32: SampleTable] = [:]
    private var index: FragmentIndex
    private var video: MovieTrack?
    private var audio: MovieTrack?
    private var sequence: UInt32 = 0
    /// The program time of the first visible frame, if the file can begin with hidden frames; otherwise nil.
    private let shownStart: ProgramInstant?
    private(set) var shown: (frames: Int, audioSamples: Int64)?
    private var written: (runs: [Fragment.Run], offsets: [Int], at: Int64)?

    /// Only hybrid files hide the first audio packet. Players of fragmented files ignore edit lists, so they would play
    /// the packet.
    var hidesPreRoll: Bool { isHybrid }
    let takesLateFrames = true

    init(_ settings: SegmentFileSettings, start: SegmentStart) {
        isHybrid = settings.format == .hybrid
        shownStart = start.shown?.time
        tags = settings.tags
        layout = MovieLayout(
            description: settings.description, creationTime: settings.tags.secondsSince1904, userData: settings.tags.box
        )
        index = FragmentIndex(track: layout.tracks.first?.id ?? MovieLayout.videoID)
        for number in layout.tracks.indices {
            switch layout.tracks[number].kind {
            case .video: video = MovieTrack(number: number, clock: beginVideo(number, start))
            case .audio: audio = MovieTrack(number: number, clock: beginAudio(number, start))
            case .data: break
            }
        }
    }

    private mutating func beginVideo(_ number: Int, _ start: SegmentStart) -> TrackClock {
        var clock = TrackClock(timescale: layout.tracks[number].timescale)
        clock.origin = clock.ticks(start.keyframe.dts, start.keyframe)
        layout.tracks[number].mediaTime = clock.ticks(start.keyframe.pts, start.keyframe) - clock.origin
        if let shown = start.shown {
            let first = TimeBase.nanoseconds.rescale(shown.time.nanoseconds, to: clock.timeBase)
            layout.tracks[number].mediaTime = max(layout.tracks[number].mediaTime, first - clock.origin)
        }
        return clock
    }

    /// Creates the clock of the audio track. The track begins with the hidden audio packet, if there is one; `zero` is
    /// the time of the first visible frame.
    private mutating func beginAudio(_ number: Int, _ start: SegmentStart) -> TrackClock {
        var clock = TrackClock(timescale: layout.tracks[number].timescale)
        let zero =
            start.shown.map { TimeBase.nanoseconds.rescale($0.time.nanoseconds, to: clock.timeBase) }
            ?? start.keyframe.timeBase.rescale(start.keyframe.pts, to: clock.timeBase)
        clock.origin = zero
        guard let first = start.firstAudio else { return clock }
        let begin = clock.ticks(first.pts, first)
        let hidden = (isHybrid ? start.preRoll : nil) ?? first
        clock.origin = min(begin, clock.ticks(hidden.pts, hidden))
        let audible = max(begin, zero)
        layout.tracks[number].emptyEdit = audible - zero
        layout.tracks[number].mediaTime = audible - clock.origin
        return clock
    }

    mutating func end(at time: ProgramInstant) {
        guard let shownStart else { return }
        // The end is the difference of two rounded program times, so that one file's audio ends at exactly the sample
        // at which the next file's audio begins.
        let base = TimeBase(1, Int32(clamping: layout.timescale))
        let ticks = { (moment: ProgramInstant) in TimeBase.nanoseconds.rescale(moment.nanoseconds, to: base) }
        layout.end = ticks(time) - ticks(shownStart)
    }

    func head() -> [UInt8] { MovieBox.openHead + MovieBox.open(layout) }

    mutating func fragment(
        _ videoPackets: [EncodedPacket], _ audioPackets: [EncodedPacket], next: EncodedPacket?, at offset: Int64
    ) -> [SharedBytes] {
        var runs: [Fragment.Run] = []
        if let video, !videoPackets.isEmpty {
            let samples = video.clock.entries(videoPackets, next: next)
            runs.append(Fragment.Run(track: layout.tracks[video.number], samples: samples))
        }
        if let audio, !audioPackets.isEmpty {
            let samples = audio.clock.entries(audioPackets, next: nil)
            runs.append(Fragment.Run(track: layout.tracks[audio.number], samples: samples))
        }
        let (header, offsets) = Fragment(sequence: sequence &+ 1, runs: runs).encode()
        written = (runs, offsets, offset)
        return [SharedBytes(header)] + videoPackets.map(\.payload) + audioPackets.map(\.payload)
    }

    mutating func wrote() {
        guard let (runs, offsets, position) = written else { return }
        written = nil
        sequence &+= 1
        for (run, offset) in zip(runs, offsets) {
            tables[run.track.id, default: SampleTable()].append(run.samples, at: UInt64(position) + UInt64(offset))
        }
        if !isHybrid, let run = runs.first { index.append(run, at: position) }
    }

    // The head of a fragmented file cannot become longer, so a fragmented file gets no chapters.
    mutating func mark(_ chapters: [Chapter]) { if isHybrid { tags.chapters = chapters } }

    mutating func appendIndex(
        _ file: FileDescriptor, mediaEnd: Int64, ending: SegmentEnding
    ) throws(FileFailure) -> Int64 {
        tags.position?.ending = ending
        layout.userData = tags.box
        if isHybrid {
            if shownStart != nil { shown = MovieBox.shown(layout, tables) }
            let size = try HybridFinish.appendMovie(file, layout, tables, mediaEnd: mediaEnd)
            tables = [:]
            return size
        }
        let box = SharedBytes(index.encode())
        do {
            try file.write([box], at: mediaEnd)
        } catch {
            try? file.truncate(to: mediaEnd)
            throw error
        }
        index = FragmentIndex(track: layout.tracks.first?.id ?? MovieLayout.videoID)
        return mediaEnd + Int64(box.count)
    }

    func seal(_ file: FileDescriptor, mediaEnd: Int64, size: Int64, isDurable: Bool) throws(FileFailure) {
        if isHybrid {
            return try HybridFinish.seal(file, mediaEnd: mediaEnd, size: size, isDurable: isDurable)
        }
        // The new head is as long as the old one: only the word that says how the file ended changes.
        try file.write([SharedBytes(head())], at: 0)
        try file.truncate(to: size)
        if isDurable { try file.synchronise() }
    }
}

/// One track of a movie that is being written.
private struct MovieTrack {
    /// The track's index in the layout.
    let number: Int
    let clock: TrackClock
}
