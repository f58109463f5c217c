// SPDX-License-Identifier: Apache-2.0

package import Media
package import SourceClock

/// Joins the packets of several inputs into one stream: packets of the input on air are passed on, all others are
/// dropped.
///
/// A switch to another input takes effect at that input's next keyframe. The time between that keyframe and the last
/// packet of the previous input is the time that elapsed between their arrivals, so the gap between the two inputs is
/// neither stretched nor filled. Within each input, the offset between audio and video and the intervals between
/// packets stay unchanged. When the codec configuration changes, the packets refer to a new track description.
///
/// This is a value without a clock or I/O of its own.
package struct PacketSplicer: Sendable {
    private struct Input {
        let index: Int
        var timeline: PacketTimeline
        let leading: TrackKind
        /// The offset that is added to the input's times while it is on air.
        var shift = Duration.zero
    }

    /// The open inputs. They are in an array because an array's elements are read and changed in place, while each read
    /// of a dictionary's value copies the whole input with all collections of its timeline.
    private var inputs: [Input] = []
    /// The number of the input on air; nil if no input is on air.
    package private(set) var onAir: Int?
    /// The number of the input to which the splicer switches at that input's next keyframe; nil if no switch is
    /// pending.
    package private(set) var next: Int?
    private var counts = PacketTimeline.Counts()
    /// For each track, the decoding time and the arrival time of the newest packet on air.
    private var newest: [TrackKind: (time: ProgramInstant, arrival: MonotonicInstant)] = [:]
    /// The end of the newest packet of each track.
    private var ends: [TrackKind: ProgramInstant] = [:]
    /// Presentation time at which the input on air begins: audio before this time is taken from the previous input.
    private var begin = ProgramInstant.distantPast
    /// The number of the input that was on air before, as long as its audio from before ``begin`` can still arrive:
    /// broadcasters multiplex audio up to a second behind the video.
    package private(set) var leaving: Int?
    /// Limits for the late audio of the previous input. `longestLag` is how late this audio is allowed to be in media
    /// time. `freshness` is how recently the previous input must have delivered its last packet.
    private static let (longestLag, freshness) = (Duration.seconds(3), Duration.milliseconds(500))
    /// The first packet of the next input is allowed to have arrived earlier than the newest packet on air by less than
    /// this.
    private static let tolerance = Duration.milliseconds(100)

    /// Creates a splicer without inputs.
    package init() {}

    /// Counts of the packets that the inputs' timelines dropped.
    package var timelineCounts: PacketTimeline.Counts {
        inputs.reduce(into: counts) { sum, input in
            sum.undecodableFrames += input.timeline.counts.undecodableFrames
            sum.unplaced += input.timeline.counts.unplaced
        }
    }

    /// Returns the clock events of an input since the last call of this function.
    package mutating func takeEvents(of index: Int) -> [SourceClockEvent] {
        place(of: index).map { inputs[$0].timeline.takeEvents() } ?? []
    }

    /// Returns the tracks of an input that deliver no packets although the input's other track continues.
    package func silentTracks(of index: Int) -> Set<TrackKind> {
        place(of: index).map { inputs[$0].timeline.silentTracks } ?? []
    }

    /// Returns the known tracks of an input, with the descriptions that its packets have on air.
    package func stream(of index: Int) -> StreamDescription? { place(of: index).map { inputs[$0].timeline.stream } }

    /// Where the input `index` is in ``inputs``; nil if it is not open.
    private func place(of index: Int) -> Int? {
        for place in inputs.indices where inputs[place].index == index { return place }
        return nil
    }

    /// Registers the opened `source` as the input `index`. The audio is moved later by `audioOffset`.
    package mutating func open(_ index: Int, _ source: PacketSourceDescription, audioOffset: Duration = .zero) {
        let wasOnAir = onAir == index
        forget(index)
        // If the input was on air before it was opened again, it continues on air at its next keyframe.
        if wasOnAir, next == nil { next = index }
        inputs.append(
            Input(
                index: index, timeline: PacketTimeline(source, audioOffset: audioOffset),
                leading: source.stream.leadingKind))
    }

    /// Prepares the input `index` for a restart of its sender.
    package mutating func restart(_ index: Int) {
        if let place = place(of: index) { inputs[place].timeline.restart() }
    }

    /// Removes a closed input. If the input was on air, its last packets still count as the newest packets on air.
    package mutating func close(_ index: Int) {
        forget(index)
        if next == index { next = nil }
    }

    /// Puts an input on air at its next keyframe. If the input is on air already, cancels a pending switch to another
    /// input.
    package mutating func show(_ index: Int) { next = onAir == index ? nil : index }

    /// Converts the times of an input's next packet to that input's timeline. Returns the packets that can now be
    /// decoded, in order.
    package mutating func time(_ packet: EncodedPacket, of index: Int, at arrival: MonotonicInstant) -> [EncodedPacket]
    {
        place(of: index).map { inputs[$0].timeline.take(packet, at: arrival) } ?? []
    }

    /// Takes packets of an input that one call of ``time(_:of:at:)`` returned. Returns, in order, the packets that go
    /// on air as a result. `arrival` is when the packets arrived or are due.
    package mutating func splice(_ packets: [EncodedPacket], of index: Int, at arrival: MonotonicInstant)
        -> [EncodedPacket]
    {
        guard let place = place(of: index) else { return [] }
        let leading = inputs[place].leading
        // Audio in `packets` before the first keyframe is also passed on, because it plays while the keyframe is being
        // decoded.
        if next == index, let keyframe = packets.first(where: { $0.isKeyframe && $0.track == leading }),
            isCurrent(arrival)
        {
            inputs[place].shift = cut(to: index, at: keyframe, arrival)
        }
        let shift = inputs[place].shift
        return packets.compactMap { packet in
            guard onAir == index || leaving == index && packet.track == .audio,
                let placed = self.place(packet, of: index, shift: shift)
            else { return nil }
            newest[packet.track] = (placed.programDts, arrival)
            return placed
        }
    }

    /// Takes the next packet of an input, which arrived at `arrival`, and returns the packets that go on air as a
    /// result, in order.
    package mutating func take(_ packet: EncodedPacket, of index: Int, at arrival: MonotonicInstant) -> [EncodedPacket]
    {
        splice(time(packet, of: index, at: arrival), of: index, at: arrival)
    }

    private mutating func forget(_ index: Int) {
        guard let place = place(of: index) else { return }
        let input = inputs.remove(at: place)
        counts.undecodableFrames += input.timeline.counts.undecodableFrames
        counts.unplaced += input.timeline.counts.unplaced
        if onAir == index { onAir = nil }
        if leaving == index { leaving = nil }
    }

    /// Whether packets that arrived at `arrival` are newer than the packets on air, or older by less than
    /// ``tolerance``. Each cut to older packets would put the program further ahead of the clock.
    private func isCurrent(_ arrival: MonotonicInstant) -> Bool {
        newest.values.allSatisfy { $0.arrival - arrival < Self.tolerance }
    }

    /// Whether the newest packet on air of any track arrived less than ``freshness`` before `arrival`.
    private func isFresh(at arrival: MonotonicInstant) -> Bool {
        newest.values.contains { arrival - $0.arrival < Self.freshness }
    }

    /// Puts the input `index` on air, beginning with `packet`. Returns the offset that is added to its times.
    private mutating func cut(to index: Int, at packet: EncodedPacket, _ arrival: MonotonicInstant) -> Duration {
        leaving = onAir != index && isFresh(at: arrival) ? onAir : nil
        (onAir, next) = (index, nil)
        guard let newest = newest[packet.track] ?? newest.values.max(by: { $0.time < $1.time }) else {
            // Subtracts the time for which the input was read before it went on air, so that the program begins at 0.
            return .zero - packet.programPts
        }
        let passed = newest.time + max(.zero, arrival - newest.arrival)
        let start = max(passed, ends[packet.track] ?? .distantPast)
        begin = start + (packet.programPts - packet.programDts)
        return start - packet.programDts
    }

    /// Returns the packet with its time in the program. Nil for damaged splice information, and for audio that the
    /// other input provides: audio before ``begin`` comes from the previous input, and later audio from the input on
    /// air.
    private mutating func place(_ packet: EncodedPacket, of index: Int, shift: Duration) -> EncodedPacket? {
        let (time, duration) = (packet.programPts + shift, packet.timeBase.duration(packet.duration))
        if index == leaving {
            guard time + duration / 2 < begin else { return nil }
        } else if packet.track == .audio, begin > .distantPast {
            guard time + duration / 2 >= max(begin, ends[.audio] ?? .distantPast) else { return nil }
            leaving = nil
        } else if leaving != nil, packet.programDts + shift - begin > Self.longestLag {
            leaving = nil
        }
        guard let placed = shift == .zero ? packet : packet.shifted(by: shift) else { return nil }
        ends[packet.track] = placed.programDts + duration
        return placed
    }
}
