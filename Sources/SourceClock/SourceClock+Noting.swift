// SPDX-License-Identifier: Apache-2.0

package import Media

extension SourceClock {
    /// After a long silence, a packet whose delay is below the floor by more than this comes from another
    /// sender.
    static let near = Duration.milliseconds(100)
    private static let forgottenAfter = Duration.seconds(60)
    /// The maximum number of packets that a demuxer holds back until later packets arrive.
    private static let mostHeldBack = 6
    /// If packets need more buffer than the limit allows, the mapping changes only when every packet of one track has
    /// been late for this long.
    private static let patienceWithLate = Duration.seconds(3)

    /// Records a packet that was read at `arrival`. Returns the packet's times on the timeline, and the events that the
    /// packet caused. Returns nil if the packet's timestamps are impossible, or if its track was not declared.
    package mutating func note(_ stamp: Stamp, arrival: MonotonicInstant) -> Noted? {
        let live = settings.arrivals != .none
        let arrived = max(now, arrival)
        if live { restartIfForgotten(stamp, arrived) }
        now = arrived
        let map = index(of: stamp.track)
        let floor = settings.arrivals == .captureTime ? .zero : maps[map].floor.delay(at: arrived)
        let bias = delays[stamp.track]?.bias ?? .zero
        guard
            let place = timeline.place(
                stamp, arrival: live ? arrived : nil, floor: floor.map { $0 + bias }, isCollecting: !isPlaced)
        else { return nil }
        var events: [SourceClockEvent] = []
        if let jump = place.jump {
            status.jumps += 1
            events.append(.jumped(jump.track, by: jump.distance))
        }
        if let track = timeline.takeLoneJump(at: arrived) {
            status.loneJumps += 1
            events.append(.jumpedAlone(track))
        }
        if live {
            if place.disproves { collectAgain(at: arrived) }
            observe(stamp.track, place, arrived, &events)
        }
        return Noted(
            decodeTime: place.decode, time: place.presentation,
            events: events, isMoved: place.isMoved)
    }

    /// Moves the mappings to our clock at once: all media that has not been shown yet is shown later by `distance`. If
    /// the source uses a common buffer, its mapping then slowly returns to the length of that buffer.
    package mutating func align(by distance: Duration) {
        for index in maps.indices {
            maps[index].offset?.step(by: distance)
            if seat == nil { maps[index].buffer += distance }
        }
        status.bufferMilliseconds = maps[0].buffer.milliseconds
    }

    /// Updates the mappings from source time to our clock to the present, `moment`, and detects tracks without packets.
    /// Called at each tick of the program, also while no packets arrive.
    package mutating func advance(to moment: MonotonicInstant) -> [SourceClockEvent] {
        guard started != nil, settings.arrivals != .none else { return [] }
        now = max(now, moment)
        var events: [SourceClockEvent] = []
        slew(to: now, &events)
        giveBackExcess(at: now, &events)
        let patience = settings.patience
        for track in TrackKind.timed {
            guard let state = delays[track], !state.isSilent, now - state.last > patience else { continue }
            delays[track]?.isSilent = true
            events.append(.silent(track))
        }
        if !isLost, now - lastArrival > lostAfter {
            isLost = true
            events.append(.lost)
        }
        return events
    }

    /// After a silence that is longer than this, the source counts as lost.
    var lostAfter: Duration { max(.seconds(10), settings.patience * 2) }

    /// After a long silence, restarts the clock if the first new packet does not fit the mapping, because then this
    /// packet comes from another sender. After more than a minute of silence, restarts the clock in any case.
    private mutating func restartIfForgotten(_ stamp: Stamp, _ arrived: MonotonicInstant) {
        guard isPlaced else { return }
        if arrived - lastArrival > lostAfter { silence = (arrived - lastArrival, Self.mostHeldBack) }
        guard silence.heldBack > 0 else { return }
        // A packet that continues the media from before the silence was held back by the demuxer. It does not show
        // which sender is sending now.
        silence.heldBack = timeline.continues(stamp) ? silence.heldBack - 1 : 0
        guard silence.heldBack == 0 else { return }
        let map = maps[index(of: stamp.track)]
        guard let offset = map.offset, let floor = map.floor.delay(at: arrived),
            let time = timeline.peek(stamp)
        else { return restart() }
        let delay = arrived.delay(of: time) - (delays[stamp.track]?.bias ?? .zero)
        if silence.length > Self.forgottenAfter || delay < floor - Self.near || delay > offset.value { restart() }
    }

    /// Forgets the collected delays, because one of them came from a wrong timestamp. Does nothing after the time for
    /// collecting, so that a sender of many wrong timestamps also gets a mapping.
    private mutating func collectAgain(at arrived: MonotonicInstant) {
        guard !isPlaced, let started, arrived - started < settings.collecting else { return }
        for index in maps.indices { maps[index].floor.restart() }
        delays = PerTrack()
    }

    /// Records a packet that arrived at `arrived` and has the position `place` on the timeline, and the delays that are
    /// certain now.
    private mutating func observe(
        _ track: TrackKind, _ place: SenderTimeline.Place, _ arrived: MonotonicInstant,
        _ events: inout [SourceClockEvent]
    ) {
        started = started ?? arrived
        (isLost, lastArrival) = (false, arrived)
        if delays[track] == nil {
            delays[track] = TrackDelays(since: arrived, isJoining: isPlaced)
            if isPlaced { events.append(.joined(track)) }
        }
        if delays[track]?.arrive(at: arrived) == true { events.append(.resumed(track)) }
        let packet = TrackDelays.Packet(time: place.decode, arrival: arrived)
        for packet in delays[track]?.release(packet, place.course) ?? [] {
            measure(track, packet.time, packet.arrival, &events)
        }
    }

    /// Records the delay of a packet, and creates, extends or moves the mapping if necessary. `time` is the packet's
    /// decoding time on the timeline, and `arrived` its arrival.
    private mutating func measure(
        _ track: TrackKind, _ time: Timestamp, _ arrived: MonotonicInstant, _ events: inout [SourceClockEvent]
    ) {
        if let end = repeated[track] {
            if time <= end { return }
            repeated[track] = nil
        }
        let delay = arrived.delay(of: time) - (delays[track]?.bias ?? .zero)
        let decoding = track == .video ? settings.decoding : .zero
        let isCollecting = !isPlaced
        delays[track]?.note(delay + decoding, at: arrived, isCollecting: isCollecting)
        let index = index(of: track)
        if settings.arrivals != .captureTime, maps[index].floor.note(track, delay: delay, arrival: arrived) {
            status.pathChanges += 1
            events.append(.pathChanged)
        }
        status.ratePPM = -maps[0].floor.rate * 1e6
        guard isPlaced else { return collect(arrived, started ?? arrived, &events) }
        slew(to: arrived, &events)
        if isOnTrial(at: arrived, &events) { return }
        if delays[track]?.isJoining == true { return join(track, arrived, &events) }
        judge(track, delay + decoding, arrived, &events)
    }

    /// Decides whether a packet is on time. If the packet is late, decides whether the mapping must be moved.
    private mutating func judge(
        _ track: TrackKind, _ delay: Duration, _ arrived: MonotonicInstant, _ events: inout [SourceClockEvent]
    ) {
        let map = maps[index(of: track)]
        guard let offset = map.offset else { return }
        let late = delay - offset.value
        reserve(for: delay, on: index(of: track), arrived)
        guard late > .zero else {
            delays[track]?.lateSince = nil
            return
        }
        let since = delays[track]?.lateSince ?? arrived
        delays[track]?.lateSince = since
        status.latePackets += 1
        events.append(.late(track, by: late))
        lateArrivals.removeAll { arrived - $0 > .seconds(10) }
        lateArrivals.append(arrived)
        guard late > .milliseconds(100) || lateArrivals.count >= 5 else { return }
        // A step of the mapping causes one gap now and prevents many gaps later. If the buffer would exceed its limit,
        // no step is made at first: the program repeats the last frame instead.
        let need = delay + Self.margin
        if need - floor(of: map, at: arrived) > mostBuffer {
            guard arrived - since > Self.patienceWithLate else { return }
            if relateAnew(track, arrived, &events) { return }
        }
        step(by: need - offset.value, &events)
    }

    /// Enlarges the buffer, up to ``mostBuffer``, if a packet with this `delay` arrived too late or with less than the
    /// usual margin left. The mappings move to the larger buffer slowly, which is inaudible. Packets that arrive even
    /// later then need no step, which would insert silence. Does nothing in the first 2 s of a mapping, or if packets
    /// do not arrive with jitter.
    private mutating func reserve(for delay: Duration, on index: Int, _ arrived: MonotonicInstant) {
        guard settings.arrivals == .jitter, arrived - placed >= Self.timeOfStart else { return }
        let need = delay + Self.margin - floor(of: maps[index], at: arrived)
        let more = need - maps[index].buffer
        guard more > .zero, need <= mostBuffer else { return }
        guard seat == nil else { return share(max(ownBuffer, need)) }
        for index in maps.indices { maps[index].buffer += more }
        reserved += more
        status.bufferMilliseconds = maps[0].buffer.milliseconds
    }

    /// Shortens the buffers again by the part of the additions of ``reserve(for:on:_:)`` that the mappings have not
    /// reached yet. The step that follows moves the mappings by the whole missing distance, so it would count this part
    /// twice.
    private mutating func dropReserve() {
        let unreached = maps.compactMap { map in
            map.offset.map { map.buffer - ($0.value - floor(of: map, at: now)) }
        }
        let dropped = max(.zero, min(reserved, unreached.min() ?? .zero))
        for index in maps.indices { maps[index].buffer -= dropped }
        reserved = .zero
    }

    /// Moves the mappings by `distance` at once, because packets need a larger buffer or because the buffer is far too
    /// long.
    mutating func step(by distance: Duration, _ events: inout [SourceClockEvent]) {
        if reserved > .zero { dropReserve() }
        align(by: distance)
        if seat != nil, let offset = maps[0].offset { share(offset.value - floor(of: maps[0], at: now)) }
        lateArrivals = []
        for track in delays.tracks { delays[track]?.lateSince = nil }
        status.steps += 1
        events.append(.stepped(distance))
    }
}
