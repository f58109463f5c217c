// SPDX-License-Identifier: Apache-2.0

package import Media
package import SourceClock

/// Makes one stream of the packets of several inputs, of which one is on air: the others' are left out.
///
/// Another input goes on air at its next keyframe, whose time is what passed on the clock since the last packet of the
/// one before: times continue, and what is missing between the two is neither stretched nor repeated. Each input keeps
/// its own relation of audio to video and its own intervals. Packets with another coding refer to another description.
///
/// This is a value without a clock or I/O of its own.
package struct PacketSplicer: Sendable {
    private struct Input {
        var timeline: PacketTimeline
        let leading: TrackKind
        /// What is added to its times while it is on air, in nanoseconds.
        var shift: Int64 = 0
    }

    private var inputs: [Int: Input] = [:]
    /// The input on air; nil before the first.
    package private(set) var onAir: Int?
    /// The input that goes on air at its next keyframe.
    package private(set) var next: Int?
    private var counts = PacketTimeline.Counts()
    /// The decoding time of each track's newest packet on air and when that arrived, in nanoseconds.
    private var newest: [TrackKind: (time: Int64, arrival: Int64)] = [:]
    /// Where the newest packet of each track ends, in nanoseconds.
    private var ends: [TrackKind: Int64] = [:]
    /// Where the input on air begins: audio from before is that of the one before it.
    private var begin = Int64.min
    /// The input that was on air before, as long as its audio may still come that belongs in front of ``begin``:
    /// broadcasters multiplex audio up to a second behind its video.
    package private(set) var leaving: Int?
    /// How late in media time that audio may be, and how fresh what was on air must be for there to be any, in
    /// nanoseconds.
    private static let (longestLag, freshness): (Int64, Int64) = (3_000_000_000, 500_000_000)
    /// How much earlier than what is on air something may have arrived that takes its place, in nanoseconds.
    private static let tolerance: Int64 = 100_000_000

    /// A splicer without inputs.
    package init() {}

    /// What timelines of inputs left out.
    package var timelineCounts: PacketTimeline.Counts {
        inputs.values.reduce(into: counts) { sum, input in
            sum.undecodableFrames += input.timeline.counts.undecodableFrames
            sum.unplaced += input.timeline.counts.unplaced
        }
    }

    /// What happened to an input since this was asked last.
    package mutating func takeEvents(of index: Int) -> [SourceClockEvent] {
        inputs[index]?.timeline.takeEvents() ?? []
    }

    /// Tracks of an input of which nothing comes, though another one does.
    package func silentTracks(of index: Int) -> Set<TrackKind> { inputs[index]?.timeline.silentTracks ?? [] }

    /// How the tracks of an input are described by its packets, as far as they are known.
    package func stream(of index: Int) -> StreamDescription? { inputs[index]?.timeline.stream }

    /// Makes the opened source of this description the input `index`, whose audio is `audioOffset` later than it says.
    package mutating func open(_ index: Int, _ source: PacketSourceDescription, audioOffset: Duration = .zero) {
        let wasOnAir = onAir == index
        forget(index)
        // Opened again while it was on air, it stays there: from its next keyframe on.
        if wasOnAir, next == nil { next = index }
        inputs[index] = Input(
            timeline: PacketTimeline(source, audioOffset: audioOffset), leading: source.stream.leadingKind)
    }

    /// Prepares for an input whose sender begins again.
    package mutating func restart(_ index: Int) {
        inputs[index]?.timeline.restart()
    }

    /// Forgets a closed input. What was on air stays the newest.
    package mutating func close(_ index: Int) {
        forget(index)
        if next == index { next = nil }
    }

    /// Puts an input on air, at its next keyframe. One that still is on air stays there, as if nothing had been.
    package mutating func show(_ index: Int) { next = onAir == index ? nil : index }

    /// Gives the next packet of an input its time on that input's timeline, and returns what can be decoded because of it, in
    /// order.
    package mutating func time(_ packet: EncodedPacket, of index: Int, at arrival: Timestamp) -> [EncodedPacket] {
        inputs[index]?.timeline.take(packet, at: arrival) ?? []
    }

    /// Takes timed packets of an input that belong together, and returns what goes on air because of them, in order. They
    /// arrived, or are due, at `arrival`.
    package mutating func splice(_ packets: [EncodedPacket], of index: Int, at arrival: Timestamp) -> [EncodedPacket] {
        guard let leading = inputs[index]?.leading else { return [] }
        // Audio in front of the first keyframe is heard while that is decoded.
        if next == index, let keyframe = packets.first(where: { $0.isKeyframe && $0.track == leading }),
            isCurrent(arrival)
        {
            cut(to: index, at: keyframe, arrival)
        }
        return packets.compactMap { packet in
            guard onAir == index || leaving == index && packet.track == .audio,
                let placed = place(packet, of: index, shift: inputs[index]?.shift ?? 0)
            else { return nil }
            newest[packet.track] = (placed.dtsNanoseconds, arrival.nanoseconds)
            return placed
        }
    }

    /// Takes the next packet of an input, which arrived at `arrival`, and returns what goes on air because of it, in order.
    package mutating func take(_ packet: EncodedPacket, of index: Int, at arrival: Timestamp) -> [EncodedPacket] {
        splice(time(packet, of: index, at: arrival), of: index, at: arrival)
    }

    private mutating func forget(_ index: Int) {
        guard let input = inputs.removeValue(forKey: index) else { return }
        counts.undecodableFrames += input.timeline.counts.undecodableFrames
        counts.unplaced += input.timeline.counts.unplaced
        if onAir == index { onAir = nil }
        if leaving == index { leaving = nil }
    }

    /// Whether what arrived then is newer than what is on air. A cut to what was held back would put the program ahead of
    /// the clock, by as much again each time.
    private func isCurrent(_ arrival: Timestamp) -> Bool {
        newest.values.allSatisfy { arrival.nanoseconds - $0.arrival > -Self.tolerance }
    }

    /// Whether what is on air has just come.
    private func isFresh(at arrival: Timestamp) -> Bool {
        newest.values.contains { arrival.nanoseconds - $0.arrival < Self.freshness }
    }

    private mutating func cut(to index: Int, at packet: EncodedPacket, _ arrival: Timestamp) {
        leaving = onAir != index && isFresh(at: arrival) ? onAir : nil
        (onAir, next) = (index, nil)
        guard let newest = newest[packet.track] ?? newest.values.max(by: { $0.time < $1.time }) else {
            // The program begins at 0, also with an input that was read for a while before it went on air.
            inputs[index]?.shift = -packet.ptsNanoseconds
            return
        }
        let passed = newest.time + max(0, arrival.nanoseconds - newest.arrival)
        let start = max(passed, ends[packet.track] ?? .min)
        inputs[index]?.shift = start - packet.dtsNanoseconds
        begin = start + packet.ptsNanoseconds - packet.dtsNanoseconds
    }

    /// The packet at its time in the program; nil for audio that belongs to the other side of the cut.
    private mutating func place(_ packet: EncodedPacket, of index: Int, shift: Int64) -> EncodedPacket? {
        let base = packet.timeBase
        let (time, half) = (packet.ptsNanoseconds + shift, base.rescale(packet.duration, to: .nanoseconds) / 2)
        if index == leaving {
            guard time + half < begin else { return nil }
        } else if packet.track == .audio, begin > .min {
            guard time + half >= max(begin, ends[.audio] ?? .min) else { return nil }
            leaving = nil
        } else if leaving != nil, packet.dtsNanoseconds + shift - begin > Self.longestLag {
            leaving = nil
        }
        guard let placed = shift == 0 ? packet : packet.shifted(byNanoseconds: shift) else { return nil }
        ends[packet.track] = placed.dtsNanoseconds + 2 * half
        return placed
    }
}
