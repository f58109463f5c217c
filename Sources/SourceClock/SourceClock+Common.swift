// SPDX-License-Identifier: Apache-2.0

internal import Media

extension SourceClock {
    /// How long a new mapping may make a step: during this time, little of the source has been shown.
    private static let timeOfStart: Int64 = 2_000_000_000

    /// Reports the buffer that this source itself needs, in nanoseconds.
    mutating func share(_ need: Int64) {
        ownBuffer = need
        seat?.need(need)
    }

    /// Adopts the common buffer: the mapping changes slowly, or at once while it is new.
    mutating func followOthers(at moment: Int64, _ events: inout [SourceClockEvent]) {
        guard let seat else { return }
        let more = seat.buffer(for: ownBuffer) &- maps[0].buffer
        guard more != 0 else { return }
        let isNew = more > 0 && moment &- placed < Self.timeOfStart
        for index in maps.indices {
            maps[index].buffer &+= more
            if isNew { maps[index].offset?.step(by: more) }
        }
        status.bufferMilliseconds = Double(maps[0].buffer) / 1e6
        if isNew { events.append(.followed(by: .nanoseconds(more))) }
    }
}
