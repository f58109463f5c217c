// SPDX-License-Identifier: Apache-2.0

package import Media
internal import Program
package import Status

extension RunDownPlayer {
    /// A snapshot of the status. `frame` is the program's next frame, and `lengths` contains the lengths of files, by
    /// path.
    package func status(
        at frame: FrameIndex, withSegments: Bool = true, lengths: [String: Duration] = [:]
    ) -> RunDownStatus {
        let place = state == .held ? held?.place : place
        let now = state == .held ? held?.frame ?? frame : frame
        var status = RunDownStatus(
            name: runDown.name, state: state, loops: runDown.loops, rounds: place?.pass ?? upcoming?.pass ?? 0,
            lateFrames: lateFrames, failure: failure,
            segments: withSegments ? runDown.segments.map { described($0, lengths) } : nil)
        status.current = place.map { current($0, at: now) }
        status.next = next(after: place)
        if let remaining = status.current?.remainingSeconds, let place {
            let rest = runDown.segments.dropFirst(place.segment + 1).map { seconds(of: $0, lengths) }
            if !rest.contains(nil) { status.remainingSeconds = rest.compactMap(\.self).reduce(remaining, +) }
        }
        if state == .held {
            status.isCutAway = held?.isCutAway
            status.follows = isOver ? nil : self.place?.segment
        }
        return status
    }

    /// The length of `segment` in seconds; nil if it is not known.
    private func seconds(of segment: RunDown.Segment, _ lengths: [String: Duration]) -> Double? {
        switch segment.length {
        case .time(let duration): duration.inSeconds
        case .frames(let count): rate.timeBase.duration(count).inSeconds
        case .end: segment.clip.flatMap { clip in lengths[clip.path].map { max(.zero, $0 - clip.start).inSeconds } }
        case .take: nil
        }
    }

    private func described(_ segment: RunDown.Segment, _ lengths: [String: Duration]) -> RunDownStatus.Segment {
        var described = RunDownStatus.Segment(
            name: segment.name, views: segment.views.map(\.name), seconds: seconds(of: segment, lengths),
            transition: .init(
                type: segment.change.name.type, seconds: segment.change.duration.inSeconds, name: segment.change.stinger
            ))
        switch segment.length {
        case .time, .frames: break
        case .end: described.until = "end"
        case .take: described.until = "take"
        }
        return described
    }

    private func current(_ place: RunDownPlace, at frame: FrameIndex) -> RunDownStatus.Current {
        let start = place.start(at: rate)
        let segment = runDown.segments[place.segment]
        let end = end(of: place) ?? expectedEnd(of: place)
        return RunDownStatus.Current(
            index: place.segment, name: segment.name, view: segment.views[viewIndex(view, of: place)].name,
            frame: start.number, elapsedSeconds: seconds(frame - start),
            remainingSeconds: end.map { seconds($0 - frame) })
    }

    /// The frame at which the segment is expected to end, computed from the length that the file's container gives.
    private func expectedEnd(of place: RunDownPlace) -> FrameIndex? {
        guard runDown.segments[place.segment].length == .end, let clip = place.clip.flatMap({ clips[$0] }) else {
            return nil
        }
        return clip.started.flatMap { started in clip.frames.map { started + $0 } }
    }

    private func next(after place: RunDownPlace?) -> RunDownStatus.Next? {
        var index = upcoming?.segment
        if state == .held, let place {
            index = place.segment + 1
            if index == runDown.segments.count { index = runDown.loops ? 0 : nil }
        }
        guard state == .running || state == .held, let index else { return nil }
        var next = RunDownStatus.Next(index: index, name: runDown.segments[index].name)
        if state == .running { next.frame = place.flatMap { end(of: $0) }?.number }
        if index == upcoming?.segment { next.isReady = upcoming?.clip.map { clips[$0]?.opening == .ready } }
        return next
    }

    private func seconds(_ frames: Int64) -> Double { rate.timeBase.duration(max(0, frames)).inSeconds }
}
