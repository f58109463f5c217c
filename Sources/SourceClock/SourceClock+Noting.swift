// SPDX-License-Identifier: Apache-2.0

package import Media

extension SourceClock {
    /// How far under the map's floor a source that was lost for long may come back and still be the same.
    private static let near: Int64 = 100_000_000
    private static let forgottenAfter: Int64 = 60_000_000_000
    /// Packets that a demuxer holds back at most.
    private static let mostHeldBack = 6
    /// How long nothing but packets may come that are later than the limit grants.
    private static let patienceWithLate: Int64 = 3_000_000_000

    /// Takes in a packet that was read at `arrival`, and returns where it lies and what happened. Nil if its stamps
    /// cannot be meant, or its track was not declared: it has no place.
    package mutating func note(_ stamp: Stamp, arrival: Timestamp) -> Noted? {
        let live = settings.arrivals != .none
        let arrived = max(now, arrival.nanoseconds)
        if live { restartIfForgotten(stamp, arrived) }
        now = arrived
        let map = index(of: stamp.track)
        let floor = settings.arrivals == .captureTime ? 0 : maps[map].floor.delay(at: arrived)
        let bias = delays[stamp.track]?.bias ?? 0
        guard
            let place = timeline.place(
                stamp, arrival: live ? arrived : nil, floor: floor.map { $0 &+ bias }, isCollecting: !isPlaced)
        else { return nil }
        var events: [SourceClockEvent] = []
        if let jump = place.jump {
            status.jumps += 1
            events.append(.jumped(jump.track, by: .nanoseconds(jump.distance)))
        }
        if let track = timeline.takeLoneJump(at: arrived) {
            status.loneJumps += 1
            events.append(.jumpedAlone(track))
        }
        if live { observe(stamp.track, place.decode, arrived, &events) }
        return Noted(
            decodeTime: Timestamp(nanoseconds: place.decode), time: Timestamp(nanoseconds: place.presentation),
            events: events, isMoved: place.isMoved)
    }

    /// Moves the maps at once by so much: what is not yet shown is shown so much later. With others they come back to the
    /// common buffer.
    package mutating func align(by distance: Duration) {
        for index in maps.indices {
            maps[index].offset?.step(by: distance.inNanoseconds)
            if seat == nil { maps[index].buffer &+= distance.inNanoseconds }
        }
        status.bufferMilliseconds = Double(maps[0].buffer) / 1e6
    }

    /// Moves the maps up to `now` and looks for tracks that fell silent. To be called at each tick of the program, and
    /// while nothing arrives.
    package mutating func advance(to moment: Timestamp) -> [SourceClockEvent] {
        guard started != nil, settings.arrivals != .none else { return [] }
        now = max(now, moment.nanoseconds)
        var events: [SourceClockEvent] = []
        slew(to: now, &events)
        giveBackExcess(at: now, &events)
        let patience = settings.patience.inNanoseconds
        for track in TrackKind.timed {
            guard let state = delays[track], !state.isSilent, now &- state.last > patience else { continue }
            delays[track]?.isSilent = true
            events.append(.silent(track))
        }
        if !isLost, now &- lastArrival > lostAfter {
            isLost = true
            events.append(.lost)
        }
        return events
    }

    private var lostAfter: Int64 { max(10_000_000_000, 2 * settings.patience.inNanoseconds) }

    /// A source that was silent for long, and whose packet does not lie near its map, is another one.
    private mutating func restartIfForgotten(_ stamp: Stamp, _ arrived: Int64) {
        guard isPlaced else { return }
        if arrived &- lastArrival > lostAfter { silence = (arrived &- lastArrival, Self.mostHeldBack) }
        guard silence.heldBack > 0 else { return }
        // The end of what came before the silence is late, and nothing new.
        silence.heldBack = timeline.continues(stamp) ? silence.heldBack - 1 : 0
        guard silence.heldBack == 0 else { return }
        let map = maps[index(of: stamp.track)]
        guard let offset = map.offset, let floor = map.floor.delay(at: arrived),
            let time = timeline.peek(stamp)
        else { return restart() }
        let delay = arrived &- time &- (delays[stamp.track]?.bias ?? 0)
        if silence.length > Self.forgottenAfter || delay < floor &- Self.near || delay > offset.value { restart() }
    }

    /// Takes in the delay of a packet at `time` of the timeline.
    private mutating func observe(
        _ track: TrackKind, _ time: Int64, _ arrived: Int64, _ events: inout [SourceClockEvent]
    ) {
        let started = self.started ?? arrived
        self.started = started
        (isLost, lastArrival) = (false, arrived)
        if delays[track] == nil {
            delays[track] = TrackDelays(since: arrived, isJoining: isPlaced)
            if isPlaced { events.append(.joined(track)) }
        }
        let delay = arrived &- time &- (delays[track]?.bias ?? 0)
        let decoding = track == .video ? settings.decoding.inNanoseconds : 0
        let isCollecting = !isPlaced
        if delays[track]?.note(delay &+ decoding, at: arrived, isCollecting: isCollecting) == true {
            events.append(.resumed(track))
        }
        let index = index(of: track)
        if settings.arrivals != .captureTime, maps[index].floor.note(track, delay: delay, arrival: arrived) {
            status.pathChanges += 1
            events.append(.pathChanged)
        }
        status.ratePPM = -maps[0].floor.rate * 1e6
        guard isPlaced else { return collect(arrived, started, &events) }
        slew(to: arrived, &events)
        if delays[track]?.isJoining == true { return join(track, arrived, &events) }
        judge(track, delay &+ decoding, arrived, &events)
    }

    /// Whether a packet came in time, and if not, whether the map must move for it.
    private mutating func judge(
        _ track: TrackKind, _ delay: Int64, _ arrived: Int64, _ events: inout [SourceClockEvent]
    ) {
        let map = maps[index(of: track)]
        guard let offset = map.offset else { return }
        let late = delay &- offset.value
        guard late > 0 else {
            delays[track]?.lateSince = nil
            return
        }
        let since = delays[track]?.lateSince ?? arrived
        delays[track]?.lateSince = since
        status.latePackets += 1
        events.append(.late(track, by: .nanoseconds(late)))
        lateArrivals.removeAll { arrived &- $0 > 10_000_000_000 }
        lateArrivals.append(arrived)
        guard late > 100_000_000 || lateArrivals.count >= 5 else { return }
        // One hole now instead of many, unless the last frame had better stand.
        let need = delay &+ Self.margin
        if need &- floor(of: map, at: arrived) > mostBuffer {
            guard arrived &- since > Self.patienceWithLate else { return }
            if relateAnew(track, arrived, &events) { return }
        }
        step(by: need &- offset.value, &events)
    }

    /// Moves the maps at once, because packets come too late.
    mutating func step(by distance: Int64, _ events: inout [SourceClockEvent]) {
        align(by: .nanoseconds(distance))
        if seat != nil, let offset = maps[0].offset { share(offset.value &- floor(of: maps[0], at: now)) }
        lateArrivals = []
        for track in delays.tracks { delays[track]?.lateSince = nil }
        status.steps += 1
        events.append(.stepped(.nanoseconds(distance)))
    }
}
