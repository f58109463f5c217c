// SPDX-License-Identifier: Apache-2.0

package import Media

extension SourceClock {
    /// After a long silence, a packet whose delay is at most this much below the floor still counts as coming from the
    /// same sender.
    private static let near: Int64 = 100_000_000
    private static let forgottenAfter: Int64 = 60_000_000_000
    /// Maximum number of packets that a demuxer keeps back.
    private static let mostHeldBack = 6
    /// How long every packet must be later than the limit allows before the mapping changes.
    private static let patienceWithLate: Int64 = 3_000_000_000

    /// Records a packet that was read at `arrival`; returns its position on the timeline and the events. Nil if its
    /// timestamps are impossible, or its track was not declared.
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

    /// Moves the mappings at once: media that is not shown yet is shown later by `distance`. The mapping of a source
    /// with a common buffer then returns to that buffer slowly.
    package mutating func align(by distance: Duration) {
        for index in maps.indices {
            maps[index].offset?.step(by: distance.inNanoseconds)
            if seat == nil { maps[index].buffer &+= distance.inNanoseconds }
        }
        status.bufferMilliseconds = Double(maps[0].buffer) / 1e6
    }

    /// Moves the mappings to their values at `moment` and detects tracks that fell silent. Called at each tick of the
    /// program, and while no packets arrive.
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

    /// After a long silence, restarts if the packet does not fit the mapping: it comes from another sender.
    private mutating func restartIfForgotten(_ stamp: Stamp, _ arrived: Int64) {
        guard isPlaced else { return }
        if arrived &- lastArrival > lostAfter { silence = (arrived &- lastArrival, Self.mostHeldBack) }
        guard silence.heldBack > 0 else { return }
        // A packet that continues the media from before the silence shows nothing about the sender.
        silence.heldBack = timeline.continues(stamp) ? silence.heldBack - 1 : 0
        guard silence.heldBack == 0 else { return }
        let map = maps[index(of: stamp.track)]
        guard let offset = map.offset, let floor = map.floor.delay(at: arrived),
            let time = timeline.peek(stamp)
        else { return restart() }
        let delay = arrived &- time &- (delays[stamp.track]?.bias ?? 0)
        if silence.length > Self.forgottenAfter || delay < floor &- Self.near || delay > offset.value { restart() }
    }

    /// Records the delay of a packet at `time` of the timeline.
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

    /// Decides whether a packet is on time, and if it is late, whether the mapping must change.
    private mutating func judge(
        _ track: TrackKind, _ delay: Int64, _ arrived: Int64, _ events: inout [SourceClockEvent]
    ) {
        let map = maps[index(of: track)]
        guard let offset = map.offset else { return }
        let late = delay &- offset.value
        reserve(for: delay, on: index(of: track), arrived)
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
        // A step makes one gap now instead of many gaps later. It is not made if it is better to repeat the last frame.
        let need = delay &+ Self.margin
        if need &- floor(of: map, at: arrived) > mostBuffer {
            guard arrived &- since > Self.patienceWithLate else { return }
            if relateAnew(track, arrived, &events) { return }
        }
        step(by: need &- offset.value, &events)
    }

    /// Enlarges the buffer if a packet with this `delay` arrived with less than the usual margin left, or a little too
    /// late. The mappings move to the larger buffer slowly, which is inaudible. Packets that arrive even later then
    /// need no step, which would insert silence.
    private mutating func reserve(for delay: Int64, on index: Int, _ arrived: Int64) {
        guard settings.arrivals == .jitter, arrived &- placed >= Self.timeOfStart else { return }
        let need = delay &+ Self.margin &- floor(of: maps[index], at: arrived)
        let more = need &- maps[index].buffer
        guard more > 0, need <= mostBuffer else { return }
        guard seat == nil else { return share(max(ownBuffer, need)) }
        for index in maps.indices { maps[index].buffer &+= more }
        status.bufferMilliseconds = Double(maps[0].buffer) / 1e6
    }

    /// Moves the mappings at once, because packets arrive too late.
    mutating func step(by distance: Int64, _ events: inout [SourceClockEvent]) {
        align(by: .nanoseconds(distance))
        if seat != nil, let offset = maps[0].offset { share(offset.value &- floor(of: maps[0], at: now)) }
        lateArrivals = []
        for track in delays.tracks { delays[track]?.lateSince = nil }
        status.steps += 1
        events.append(.stepped(.nanoseconds(distance)))
    }
}
