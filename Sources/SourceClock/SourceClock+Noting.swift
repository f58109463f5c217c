// SPDX-License-Identifier: Apache-2.0

package import Media

extension SourceClock {
    /// After a long silence, a packet whose delay is below the floor by more than this many nanoseconds comes from
    /// another sender.
    private static let near: Int64 = 100_000_000
    private static let forgottenAfter: Int64 = 60_000_000_000
    /// The maximum number of packets that a demuxer holds back until later packets arrive.
    private static let mostHeldBack = 6
    /// If packets need more buffer than the limit allows, the mapping changes only when every packet of one track has
    /// been late for this many nanoseconds.
    private static let patienceWithLate: Int64 = 3_000_000_000

    /// Records a packet that was read at `arrival`. Returns the packet's times on the timeline, and the events that the
    /// packet caused. Returns nil if the packet's timestamps are impossible, or if its track was not declared.
    package mutating func note(_ stamp: Stamp, arrival: MonotonicInstant) -> Noted? {
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
        if live {
            if place.disproves { collectAgain(at: arrived) }
            observe(stamp.track, place.decode, arrived, &events)
        }
        return Noted(
            decodeTime: Timestamp(nanoseconds: place.decode), time: Timestamp(nanoseconds: place.presentation),
            events: events, isMoved: place.isMoved)
    }

    /// Moves the mappings to our clock at once: all media that has not been shown yet is shown later by `distance`. If
    /// the source uses a common buffer, its mapping then slowly returns to the length of that buffer.
    package mutating func align(by distance: Duration) {
        for index in maps.indices {
            maps[index].offset?.step(by: distance.inNanoseconds)
            if seat == nil { maps[index].buffer &+= distance.inNanoseconds }
        }
        status.bufferMilliseconds = Double(maps[0].buffer) / 1e6
    }

    /// Updates the mappings from source time to our clock to the present, `moment`, and detects tracks without packets.
    /// Called at each tick of the program, also while no packets arrive.
    package mutating func advance(to moment: MonotonicInstant) -> [SourceClockEvent] {
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

    /// After a long silence, restarts the clock if the first new packet does not fit the mapping, because then this
    /// packet comes from another sender. After more than a minute of silence, restarts the clock in any case.
    private mutating func restartIfForgotten(_ stamp: Stamp, _ arrived: Int64) {
        guard isPlaced else { return }
        if arrived &- lastArrival > lostAfter { silence = (arrived &- lastArrival, Self.mostHeldBack) }
        guard silence.heldBack > 0 else { return }
        // A packet that continues the media from before the silence was held back by the demuxer. It does not show
        // which sender is sending now.
        silence.heldBack = timeline.continues(stamp) ? silence.heldBack - 1 : 0
        guard silence.heldBack == 0 else { return }
        let map = maps[index(of: stamp.track)]
        guard let offset = map.offset, let floor = map.floor.delay(at: arrived),
            let time = timeline.peek(stamp)
        else { return restart() }
        let delay = arrived &- time &- (delays[stamp.track]?.bias ?? 0)
        if silence.length > Self.forgottenAfter || delay < floor &- Self.near || delay > offset.value { restart() }
    }

    /// Forgets the collected delays, because one of them came from a wrong timestamp. Does nothing after the time for
    /// collecting, so that a sender of many wrong timestamps also gets a mapping.
    private mutating func collectAgain(at arrived: Int64) {
        guard !isPlaced, let started, arrived &- started < settings.collecting.inNanoseconds else { return }
        for index in maps.indices { maps[index].floor.restart() }
        delays = PerTrack()
    }

    /// Records the delay of a packet, and creates, extends or moves the mapping if necessary. `time` is the packet's
    /// decoding time on the timeline, and `arrived` its arrival.
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

    /// Decides whether a packet is on time. If the packet is late, decides whether the mapping must be moved.
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
        // A step of the mapping causes one gap now and prevents many gaps later. If the buffer would exceed its limit,
        // no step is made at first: the program repeats the last frame instead.
        let need = delay &+ Self.margin
        if need &- floor(of: map, at: arrived) > mostBuffer {
            guard arrived &- since > Self.patienceWithLate else { return }
            if relateAnew(track, arrived, &events) { return }
        }
        step(by: need &- offset.value, &events)
    }

    /// Enlarges the buffer, up to ``mostBuffer``, if a packet with this `delay` arrived too late or with less than the
    /// usual margin left. The mappings move to the larger buffer slowly, which is inaudible. Packets that arrive even
    /// later then need no step, which would insert silence. Does nothing in the first 2 s of a mapping, or if packets
    /// do not arrive with jitter.
    private mutating func reserve(for delay: Int64, on index: Int, _ arrived: Int64) {
        guard settings.arrivals == .jitter, arrived &- placed >= Self.timeOfStart else { return }
        let need = delay &+ Self.margin &- floor(of: maps[index], at: arrived)
        let more = need &- maps[index].buffer
        guard more > 0, need <= mostBuffer else { return }
        guard seat == nil else { return share(max(ownBuffer, need)) }
        for index in maps.indices { maps[index].buffer &+= more }
        reserved &+= more
        status.bufferMilliseconds = Double(maps[0].buffer) / 1e6
    }

    /// Shortens the buffers again by the part of the additions of ``reserve(for:on:_:)`` that the mappings have not
    /// reached yet. The step that follows moves the mappings by the whole missing distance, so it would count this part
    /// twice.
    private mutating func dropReserve() {
        let unreached = maps.compactMap { map in
            map.offset.map { map.buffer &- ($0.value &- floor(of: map, at: now)) }
        }
        let dropped = max(0, min(reserved, unreached.min() ?? 0))
        for index in maps.indices { maps[index].buffer &-= dropped }
        reserved = 0
    }

    /// Moves the mappings by `distance` at once, because packets need a larger buffer or because the buffer is far too
    /// long.
    mutating func step(by distance: Int64, _ events: inout [SourceClockEvent]) {
        if reserved > 0 { dropReserve() }
        align(by: .nanoseconds(distance))
        if seat != nil, let offset = maps[0].offset { share(offset.value &- floor(of: maps[0], at: now)) }
        lateArrivals = []
        for track in delays.tracks { delays[track]?.lateSince = nil }
        status.steps += 1
        events.append(.stepped(.nanoseconds(distance)))
    }
}
