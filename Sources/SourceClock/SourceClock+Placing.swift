// SPDX-License-Identifier: Apache-2.0

internal import Media

extension SourceClock {
    /// If the smallest delays of two tracks that share a mapping differ by more than this many nanoseconds, the
    /// timestamps of the tracks have no common epoch.
    private static let unrelated: Int64 = 10_000_000_000

    /// Creates the mapping from the source's timeline to our clock as soon as enough delays have been collected.
    mutating func collect(_ arrived: Int64, _ started: Int64, _ events: inout [SourceClockEvent]) {
        let collecting = settings.collecting.inNanoseconds
        let newest = delays.values.map(\.since).max() ?? started
        let areAllThere = expected.allSatisfy { delays[$0] != nil }
        let isLongEnough = arrived &- started >= collecting && arrived &- newest >= collecting / 2
        guard areAllThere ? isLongEnough : arrived &- started > 3 * collecting &+ 1_000_000_000 else { return }
        let since = arrived &- collecting / 2
        relate(since: since, &events)
        let found = delays.values.map { $0.extremes(since: since) }
        let need = found.map(need(of:)).max() ?? 0
        let offset = max(need, found.map { $0.greatest &+ Self.margin }.max() ?? need)
        place(at: offset, need: need, arrived, &events)
        for track in TrackKind.timed where expected.contains(track) && delays[track] == nil {
            events.append(.silent(track))
        }
    }

    /// The minimum offset for a track with these delays: the larger of two sums. The first sum is the smallest delay
    /// plus the configured latency. The second sum is the smallest delay of a bundle's first packet plus two thirds of
    /// the latency. A bundle is a group of packets that arrive together, like the audio of one PES packet. At 300
    /// kbit/s, bundles have a jitter of 107 ms (measured), and only one or two bundles arrive before the mapping is
    /// created. If timestamps are capture times, the offset is the latency, counted from the capture.
    private func need(of delays: TrackDelays.Extremes) -> Int64 {
        let latency = settings.latency.inNanoseconds
        if settings.arrivals == .captureTime { return latency }
        return max(delays.least &+ latency, delays.bundle &+ latency / 3 &* 2)
    }

    /// If the timestamps of the two tracks have no common epoch, aligns the tracks by their arrivals.
    private mutating func relate(since: Int64, _ events: inout [SourceClockEvent]) {
        guard let video = delays[.video]?.extremes(since: since), let audio = delays[.audio]?.extremes(since: since)
        else { return }
        let distance = audio.least &- video.least
        status.audioBehindVideoMilliseconds = Double(distance) / 1e6
        let limit = settings.sharesMap ? Self.unrelated : settings.limit.inNanoseconds
        guard distance.magnitude > UInt64(limit) else { return }
        bias(.audio, by: distance)
        events.append(.unrelated)
    }

    /// Aligns `track` by its arrivals with the other track of the same mapping if their delays have become too
    /// different. Without this alignment, the track with the smaller delay would have to wait for the other one.
    /// Returns whether the track was aligned.
    mutating func relateAnew(_ track: TrackKind, _ arrived: Int64, _ events: inout [SourceClockEvent]) -> Bool {
        let since = arrived &- 2_000_000_000
        guard maps.count == 1, let found = delays[track]?.extremes(since: since), let other = delays[track.other],
            arrived &- other.last < 1_000_000_000
        else { return false }
        let distance = found.least &- other.extremes(since: since).least
        status.audioBehindVideoMilliseconds = Double(track == .audio ? distance : -distance) / 1e6
        guard distance.magnitude > UInt64(Self.unrelated) else { return false }
        bias(track, by: distance)
        events.append(.unrelated)
        return true
    }

    private mutating func bias(_ track: TrackKind, by distance: Int64) {
        delays[track]?.move(by: distance)
        // If the track has a floor of its own, that floor moves with the track. A floor for both tracks contains delays
        // of both tracks, so it must start again.
        if maps.count == 2 { maps[index(of: track)].floor.move(by: -distance) } else { maps[0].floor.restart() }
    }

    private mutating func place(at offset: Int64, need: Int64, _ arrived: Int64, _ events: inout [SourceClockEvent]) {
        for index in maps.indices {
            let floor =
                settings.arrivals == .captureTime
                ? 0 : maps[index].floor.delay(at: arrived) ?? need &- settings.latency.inNanoseconds
            let rate = maps[index].offset?.rate
            maps[index].offset = SlewedOffset(offset, at: arrived, rate: rate ?? 0)
            maps[index].buffer = offset &- floor
            maps[index].leastBuffer = max(0, need &- floor)
        }
        isPlaced = true
        placed = arrived
        reserved = 0
        share(maps[0].buffer)
        followOthers(at: arrived, &events)
        status.bufferMilliseconds = Double(maps[0].buffer) / 1e6
        events.append(.placed(buffer: .nanoseconds(maps[0].buffer)))
    }

    /// Includes `track`, which began after the mapping was created, in the mapping as soon as enough of its delays have
    /// been collected. If the track needs more buffer than there is, the mapping makes one step.
    mutating func join(_ track: TrackKind, _ arrived: Int64, _ events: inout [SourceClockEvent]) {
        let collecting = max(settings.collecting.inNanoseconds, 500_000_000)
        guard let state = delays[track], arrived &- state.since >= collecting else { return }
        delays[track]?.isJoining = false
        let since = arrived &- collecting / 2
        let found = state.extremes(since: since)
        let index = index(of: track)
        guard let offset = maps[index].offset else { return }
        if relateAnew(track, arrived, &events) { return }
        let least = need(of: found)
        maps[index].leastBuffer = max(maps[index].leastBuffer, least &- floor(of: maps[index], at: arrived))
        share(max(ownBuffer, maps[index].leastBuffer))
        let need = max(found.greatest &+ Self.margin, least)
        if need > offset.value { step(by: need &- offset.value, &events) }
    }

    /// The smallest delay to expect at `moment` of packets that use `map`; 0 if timestamps are capture times.
    func floor(of map: Map, at moment: Int64) -> Int64 {
        if settings.arrivals == .captureTime { return 0 }
        return map.floor.delay(at: moment) ?? (map.offset.map { $0.value &- map.buffer } ?? 0)
    }

    /// Moves each mapping slowly towards its target: the floor (smallest delay) plus the buffer.
    mutating func slew(to moment: Int64, _ events: inout [SourceClockEvent]) {
        guard isPlaced else { return }
        shrink(at: moment)
        followOthers(at: moment, &events)
        for index in maps.indices {
            let floor = floor(of: maps[index], at: moment)
            // During the burst at the start of a playlist, the floor is not reliable yet. The buffer is adapted so that
            // the mapping does not move.
            if settings.arrivals == .bursts, maps[index].floor.count <= 5, let offset = maps[index].offset {
                maps[index].buffer = offset.value &- floor
                status.bufferMilliseconds = Double(maps[0].buffer) / 1e6
            }
            let (target, rate) = (floor &+ maps[index].buffer, maps[index].floor.rate)
            let pull = pull(of: maps[index])
            maps[index].offset?.advance(to: moment, target: target, senderRate: rate, pull)
        }
    }

    private func pull(of map: Map) -> SlewedOffset.Pull {
        let later: SlewedOffset.Pull = seat == nil ? .usual : .far
        guard settings.arrivals != .captureTime else { return later }
        guard map.floor.isRateKnown else { return .guessing }
        return map.floor.count < 4 * settings.bucketsForRate ? .new : later
    }

    /// Shortens the buffer by the part that no packet needed in the last five minutes. The mapping then follows slowly.
    private mutating func shrink(at moment: Int64) {
        guard settings.shrinks, let started, moment &- started > TrackDelays.memory,
            moment &- lookedAtBuffer > 10_000_000_000
        else { return }
        lookedAtBuffer = moment
        let spare = spareBuffer(at: moment, within: TrackDelays.memory)
        guard seat == nil else { return share(maps[0].buffer &- max(0, spare)) }
        guard spare > 0 else { return }
        for index in maps.indices { maps[index].buffer &-= spare }
        status.bufferMilliseconds = Double(maps[0].buffer) / 1e6
    }

    /// The largest buffer that the clock chooses by itself, in nanoseconds. It is always larger than the configured
    /// latency.
    package var mostBuffer: Int64 { max(settings.limit.inNanoseconds, settings.latency.inNanoseconds &+ 500_000_000) }

    /// Shortens the buffer in one step if it is far too long: if a part that is longer than ``mostBuffer`` was not
    /// needed for half a minute. Reducing such a buffer slowly would take hours.
    mutating func giveBackExcess(at moment: Int64, _ events: inout [SourceClockEvent]) {
        let time: Int64 = 30_000_000_000
        guard settings.shrinks, isPlaced, moment &- lookedAtExcess > time else { return }
        var spare = Int64.max
        for track in delays.tracks {
            guard let state = delays[track], !state.isSilent else { continue }
            guard let offset = maps[index(of: track)].offset, let greatest = state.greatest(since: moment &- time)
            else { return }
            spare = min(spare, offset.value &- greatest)
        }
        guard spare < .max, spare > mostBuffer else { return }
        lookedAtExcess = moment
        step(by: max(settings.latency.inNanoseconds, 2 * Self.margin) &- spare, &events)
    }

    /// By how much the buffers of all mappings can be shortened, in nanoseconds: the smallest unneeded part of any
    /// mapping's buffer. Negative if a buffer is too short. All buffers are shortened by the same amount, because
    /// otherwise the sync of audio and video would change.
    private func spareBuffer(at moment: Int64, within time: Int64) -> Int64 {
        let spare = maps.indices.map { index in
            let worst = worstDelay(on: index, at: moment, within: time)
            return maps[index].buffer &- max(maps[index].leastBuffer, worst &+ 2 * Self.margin)
        }
        return spare.min() ?? 0
    }

    /// By how much the largest delay of the last `time` nanoseconds exceeded the floor, in nanoseconds; for the tracks
    /// of the mapping `index`.
    private func worstDelay(on index: Int, at moment: Int64, within time: Int64) -> Int64 {
        let now = floor(of: maps[index], at: moment)
        var worst: Int64 = 0
        for track in delays.tracks where self.index(of: track) == index {
            for piece in delays[track]?.pieces ?? [] where moment &- piece.at <= time {
                let floor = now &- Int64(maps[index].floor.rate * Double(moment &- piece.at))
                worst = max(worst, piece.greatest &- floor)
            }
        }
        return worst
    }
}
