// SPDX-License-Identifier: Apache-2.0

internal import Media

extension SourceClock {
    /// If the smallest delays of two tracks that share a mapping differ by more than this, the timestamps
    /// of the tracks have no common epoch.
    private static let unrelated = Duration.seconds(10)

    /// Creates the mapping from the source's timeline to our clock as soon as enough delays have been collected.
    mutating func collect(_ arrived: MonotonicInstant, _ started: MonotonicInstant, _ events: inout [SourceClockEvent])
    {
        let collecting = settings.collecting
        let newest = delays.values.map(\.since).max() ?? started
        let areAllThere = expected.allSatisfy { delays[$0] != nil }
        let isLongEnough = arrived - started >= collecting && arrived - newest >= collecting / 2
        guard areAllThere ? isLongEnough : arrived - started > collecting * 3 + .seconds(1) else { return }
        let since = arrived - collecting / 2
        relate(since: since, &events)
        let found = delays.values.map { $0.extremes(since: since) }
        let need = found.map(need(of:)).max() ?? .zero
        let offset = max(need, found.map { $0.greatest + Self.margin }.max() ?? need)
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
    private func need(of delays: TrackDelays.Extremes) -> Duration {
        let latency = settings.latency
        if settings.arrivals == .captureTime { return latency }
        return max(delays.least + latency, delays.bundle + latency / 3 * 2)
    }

    /// If the timestamps of the two tracks have no common epoch, aligns the tracks by their arrivals.
    private mutating func relate(since: MonotonicInstant, _ events: inout [SourceClockEvent]) {
        guard let video = delays[.video]?.extremes(since: since), let audio = delays[.audio]?.extremes(since: since)
        else { return }
        let distance = audio.least - video.least
        status.audioBehindVideoMilliseconds = distance.milliseconds
        let limit = settings.sharesMap ? Self.unrelated : settings.limit
        guard distance.magnitude > limit else { return }
        bias(.audio, by: distance)
        events.append(.unrelated)
    }

    /// Aligns `track` by its arrivals with the other track of the same mapping if their delays have become too
    /// different. Without this alignment, the track with the smaller delay would have to wait for the other one.
    /// Returns whether the track was aligned.
    mutating func relateAnew(_ track: TrackKind, _ arrived: MonotonicInstant, _ events: inout [SourceClockEvent])
        -> Bool
    {
        let since = arrived - .seconds(2)
        guard maps.count == 1, let found = delays[track]?.extremes(since: since), let other = delays[track.other],
            arrived - other.last < .seconds(1)
        else { return false }
        let distance = found.least - other.extremes(since: since).least
        status.audioBehindVideoMilliseconds = (track == .audio ? distance : .zero - distance).milliseconds
        guard distance.magnitude > Self.unrelated else { return false }
        bias(track, by: distance)
        events.append(.unrelated)
        return true
    }

    private mutating func bias(_ track: TrackKind, by distance: Duration) {
        delays[track]?.move(by: distance)
        // If the track has a floor of its own, that floor moves with the track. A floor for both tracks contains delays
        // of both tracks, so it must start again.
        if maps.count == 2 { maps[index(of: track)].floor.move(by: .zero - distance) } else { maps[0].floor.restart() }
    }

    private mutating func place(
        at offset: Duration, need: Duration, _ arrived: MonotonicInstant, _ events: inout [SourceClockEvent]
    ) {
        for index in maps.indices {
            let floor =
                settings.arrivals == .captureTime
                ? .zero : maps[index].floor.delay(at: arrived) ?? need - settings.latency
            let rate = maps[index].offset?.rate
            maps[index].offset = SlewedOffset(offset, at: arrived, rate: rate ?? 0)
            maps[index].buffer = offset - floor
            maps[index].leastBuffer = max(.zero, need - floor)
        }
        isPlaced = true
        placed = arrived
        reserved = .zero
        share(maps[0].buffer)
        followOthers(at: arrived, &events)
        status.bufferMilliseconds = maps[0].buffer.milliseconds
        events.append(.placed(buffer: maps[0].buffer))
    }

    /// Includes `track`, which began after the mapping was created, in the mapping as soon as enough of its delays have
    /// been collected. If the track needs more buffer than there is, the mapping makes one step.
    mutating func join(_ track: TrackKind, _ arrived: MonotonicInstant, _ events: inout [SourceClockEvent]) {
        let collecting = max(settings.collecting, .milliseconds(500))
        guard let state = delays[track], arrived - state.since >= collecting else { return }
        delays[track]?.isJoining = false
        let since = arrived - collecting / 2
        let found = state.extremes(since: since)
        let index = index(of: track)
        guard let offset = maps[index].offset else { return }
        if relateAnew(track, arrived, &events) { return }
        let least = need(of: found)
        maps[index].leastBuffer = max(maps[index].leastBuffer, least - floor(of: maps[index], at: arrived))
        share(max(ownBuffer, maps[index].leastBuffer))
        let need = max(found.greatest + Self.margin, least)
        if need > offset.value { step(by: need - offset.value, &events) }
    }

    /// The smallest delay to expect at `moment` of packets that use `map`; 0 if timestamps are capture times.
    func floor(of map: Map, at moment: MonotonicInstant) -> Duration {
        if settings.arrivals == .captureTime { return .zero }
        return map.floor.delay(at: moment) ?? (map.offset.map { $0.value - map.buffer } ?? .zero)
    }

    /// Moves each mapping slowly towards its target: the floor (smallest delay) plus the buffer.
    mutating func slew(to moment: MonotonicInstant, _ events: inout [SourceClockEvent]) {
        guard isPlaced else { return }
        shrink(at: moment)
        followOthers(at: moment, &events)
        for index in maps.indices {
            let floor = floor(of: maps[index], at: moment)
            // During the burst at the start of a playlist, the floor is not reliable yet. The buffer is adapted so that
            // the mapping does not move.
            if settings.arrivals == .bursts, maps[index].floor.count <= 5, let offset = maps[index].offset {
                maps[index].buffer = offset.value - floor
                status.bufferMilliseconds = maps[0].buffer.milliseconds
            }
            let (target, rate) = (floor + maps[index].buffer, maps[index].floor.rate)
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
    private mutating func shrink(at moment: MonotonicInstant) {
        guard settings.shrinks, let started, moment - started > TrackDelays.memory,
            moment - lookedAtBuffer > .seconds(10)
        else { return }
        lookedAtBuffer = moment
        for index in maps.indices {
            let least = leastBuffer(on: index, at: moment)
            maps[index].leastBuffer = min(maps[index].leastBuffer, least ?? maps[index].leastBuffer)
        }
        let spare = spareBuffer(at: moment, within: TrackDelays.memory)
        guard seat == nil else { return share(maps[0].buffer - max(.zero, spare)) }
        guard spare > .zero else { return }
        for index in maps.indices { maps[index].buffer -= spare }
        status.bufferMilliseconds = maps[0].buffer.milliseconds
    }

    /// The minimum buffer of the mapping `index` by the usual delays of the last five minutes; nil if one of its tracks
    /// had no packet. The first minimum is measured within a second, in which timestamps may be wrong. The medians are
    /// not affected if the floor was wrong for less than half of the time.
    private func leastBuffer(on index: Int, at moment: MonotonicInstant) -> Duration? {
        var least = settings.latency
        for track in delays.tracks where self.index(of: track) == index {
            let recent = heights(of: track, on: index, at: moment, within: TrackDelays.memory)
            guard !recent.isEmpty else { return nil }
            let middle = recent.count / 2
            let (low, high) = (recent.map(\.least).sorted()[middle], recent.map(\.greatest).sorted()[middle])
            least = max(least, need(of: TrackDelays.Extremes(least: low, greatest: high, bundle: high)))
        }
        return least
    }

    /// The largest buffer that the clock chooses by itself. It is always larger than the configured
    /// latency.
    package var mostBuffer: Duration { max(settings.limit, settings.latency + .milliseconds(500)) }

    /// Shortens the buffer in one step if it is far too long: if a part that is longer than ``mostBuffer`` was not
    /// needed for half a minute. Reducing such a buffer slowly would take hours.
    mutating func giveBackExcess(at moment: MonotonicInstant, _ events: inout [SourceClockEvent]) {
        let time = Duration.seconds(30)
        guard settings.shrinks, isPlaced, moment - lookedAtExcess > time else { return }
        var spare: Duration?
        for track in delays.tracks {
            guard let state = delays[track], !state.isSilent else { continue }
            guard let offset = maps[index(of: track)].offset, let greatest = state.greatest(since: moment - time)
            else { return }
            let unneeded = offset.value - greatest
            spare = min(spare ?? unneeded, unneeded)
        }
        guard let spare, spare > mostBuffer else { return }
        lookedAtExcess = moment
        step(by: max(settings.latency, Self.margin * 2) - spare, &events)
    }

    /// By how much the buffers of all mappings can be shortened: the smallest unneeded part of any
    /// mapping's buffer. Negative if a buffer is too short. All buffers are shortened by the same amount, because
    /// otherwise the sync of audio and video would change.
    private func spareBuffer(at moment: MonotonicInstant, within time: Duration) -> Duration {
        let spare = maps.indices.map { index in
            let worst = worstDelay(on: index, at: moment, within: time)
            return maps[index].buffer - max(maps[index].leastBuffer, worst + Self.margin * 2)
        }
        return spare.min() ?? .zero
    }

    /// By how much the largest delay of the last `time` exceeded the floor; for the tracks of the mapping
    /// `index`.
    private func worstDelay(on index: Int, at moment: MonotonicInstant, within time: Duration) -> Duration {
        let tracks = delays.tracks.filter { self.index(of: $0) == index }
        let found = tracks.flatMap { heights(of: $0, on: index, at: moment, within: time).map(\.greatest) }
        return max(.zero, found.max() ?? .zero)
    }

    /// By how much the smallest and the largest delays of the pieces of the last `time` exceeded the floor of the
    /// mapping `index`; for the track `track`.
    private func heights(
        of track: TrackKind, on index: Int, at moment: MonotonicInstant, within time: Duration
    ) -> [(least: Duration, greatest: Duration)] {
        let (now, rate) = (floor(of: maps[index], at: moment), maps[index].floor.rate)
        return (delays[track]?.pieces ?? []).lazy.filter { moment - $0.at <= time }.map { piece in
            let floor = now - .nanoseconds(Int64(rate * Double((moment - piece.at).inNanoseconds)))
            return (piece.least - floor, piece.greatest - floor)
        }
    }
}
