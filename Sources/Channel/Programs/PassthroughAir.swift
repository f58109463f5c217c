// SPDX-License-Identifier: Apache-2.0

internal import Ingest
internal import Media
internal import Status

/// One opening of an input of a ``Passthrough``. When the input is reopened, it gets a new turn. So if a thread was
/// blocked while its input was closed, the thread's late packets do not count as packets of the new opening.
struct PassthroughTurn: Sendable, Equatable {
    /// The index of the input among the splicer's inputs.
    let index: Int
    fileprivate let number: Int
}

/// Decides which packets a ``Passthrough`` publishes, and in which order. This is a value type; its owner guards it
/// with a lock.
struct PassthroughAir {
    /// A batch of packets that is kept until the program begins. The packets of a batch go on air together.
    struct Early {
        let packets: [EncodedPacket]
        let index: Int
        let arrival: MonotonicInstant
        var bytes: Int { packets.reduce(0) { $0 + $1.payload.count } }
    }

    /// The maximum size of the packets that are kept until the program begins. If there are more, all are dropped, and
    /// the program begins with a later keyframe.
    private static let mostEarlyBytes = 32 << 20

    var splicer = PacketSplicer()
    /// Counts of the published packets.
    private(set) var status = PassthroughStatus()
    private(set) var rate = MeasuredRate()
    /// The decoding time of the first packet that went on air.
    private var first: ProgramInstant?
    /// The tracks of the input that was on air last; nil before the first input.
    private(set) var shown: StreamDescription?
    /// Whether the program has begun. Packets that arrive before that, or before an input was chosen, are kept.
    var hasBegun = false
    /// Inputs that are closed as soon as the input that replaces each of them is on air.
    var closing: Set<Int> = []
    /// When the leading track of each open input last delivered a packet.
    private(set) var newest: [Int: MonotonicInstant] = [:]
    /// The current turn (opening) of each open input, and the number of turns so far.
    private var turns: [Int: PassthroughTurn] = [:]
    private var turnCount = 0
    private var early: [Early] = []
    private var earlyBytes = 0

    /// Whether `turn` is still the current turn: its input was neither closed nor reopened since the turn began.
    func isCurrent(_ turn: PassthroughTurn) -> Bool { turns[turn.index] == turn }

    /// Records when the leading track of an input last delivered a packet. Has no effect if the turn has ended.
    mutating func noteVideo(of turn: PassthroughTurn, at moment: MonotonicInstant) {
        if isCurrent(turn) { newest[turn.index] = moment }
    }

    /// Converts the times of an input's next packet to that input's timeline. Returns, in order, the packets that can
    /// now be decoded. Returns no packets if the turn has ended.
    mutating func time(_ packet: EncodedPacket, of turn: PassthroughTurn, at arrival: MonotonicInstant)
        -> [EncodedPacket]
    {
        isCurrent(turn) ? splicer.time(packet, of: turn.index, at: arrival) : []
    }

    /// Prepares for a restart of the input's sender. Has no effect if the turn has ended.
    mutating func restart(_ turn: PassthroughTurn) {
        if isCurrent(turn) { splicer.restart(turn.index) }
    }

    /// Takes packets of an input whose times have been converted. Packets of a turn that has ended are dropped, and
    /// packets that arrive before the program has begun are kept. Returns the packets that go on air now. `isOver` is
    /// true if the program has lasted for `limit` and must end. `slate` is the index of the slate.
    mutating func take(
        _ packets: [EncodedPacket], of turn: PassthroughTurn, at arrival: MonotonicInstant, until limit: Duration?,
        slate: Int
    ) -> (packets: [EncodedPacket], isOver: Bool) {
        guard isCurrent(turn) else { return ([], false) }
        guard hasBegun, splicer.onAir ?? splicer.next != nil else {
            keep(packets, of: turn.index, at: arrival)
            return ([], false)
        }
        var due: [EncodedPacket] = []
        for batch in takeEarly() + [Early(packets: packets, index: turn.index, arrival: arrival)] {
            for packet in splicer.splice(batch.packets, of: batch.index, at: batch.arrival) {
                let first = first ?? packet.programDts
                self.first = first
                if let limit, packet.programDts - first >= limit { return (due, true) }
                note(packet, of: batch.index, isSlate: batch.index == slate)
                due.append(packet)
            }
        }
        return (due, false)
    }

    /// Keeps packets until the program begins. For every input except the first, only the newest GOP is kept. Otherwise
    /// the program would begin with all older packets at once, and would be ahead of the clock.
    mutating func keep(_ packets: [EncodedPacket], of index: Int, at arrival: MonotonicInstant) {
        guard !packets.isEmpty else { return }
        if index > 0, packets.contains(where: { $0.track == .video && $0.isKeyframe }) {
            early.removeAll { $0.index == index }
            earlyBytes = early.reduce(0) { $0 + $1.bytes }
        }
        let batch = Early(packets: packets, index: index, arrival: arrival)
        early.append(batch)
        earlyBytes += batch.bytes
        if earlyBytes > Self.mostEarlyBytes { (early, earlyBytes) = ([], 0) }
    }

    /// Registers the opened `source` as the input `index`, and begins a new turn of this input. An earlier turn of the
    /// input ends.
    @discardableResult
    mutating func open(
        _ index: Int, _ source: PacketSourceDescription, audioOffset: Duration = .zero
    ) -> PassthroughTurn {
        forget(index)
        splicer.open(index, source, audioOffset: audioOffset)
        turnCount += 1
        let turn = PassthroughTurn(index: index, number: turnCount)
        turns[index] = turn
        return turn
    }

    /// Removes a closed input, and ends its turn.
    mutating func close(_ index: Int) {
        forget(index)
        splicer.close(index)
    }

    /// Ends the turn of an input, and drops the input's packets that wait for the program's beginning. If the input is
    /// reopened, its new times do not continue the times of these packets.
    private mutating func forget(_ index: Int) {
        (turns[index], newest[index]) = (nil, nil)
        early.removeAll { $0.index == index }
        earlyBytes = early.reduce(0) { $0 + $1.bytes }
    }

    /// Removes and returns the packets that waited for the program's beginning.
    mutating func takeEarly() -> [Early] {
        if early.isEmpty { return [] }
        defer { (early, earlyBytes) = ([], 0) }
        return early
    }

    /// Counts a packet that goes on air.
    private mutating func note(_ packet: EncodedPacket, of index: Int, isSlate: Bool) {
        status.count(packet)
        rate.take(packet)
        guard !isSlate, packet.isKeyframe, packet.track != .data else { return }
        let known = packet.track == .video ? shown?.video : shown?.audio
        if known !== packet.description { shown = splicer.stream(of: index) }
    }

    /// Returns the inputs that can be closed now, because none of their packets will go on air any more.
    mutating func takeLeft() -> [Int] {
        guard !closing.isEmpty else { return [] }
        let left = closing.filter { splicer.onAir != $0 && splicer.leaving != $0 }
        closing.subtract(left)
        return Array(left)
    }
}
