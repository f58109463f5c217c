// SPDX-License-Identifier: Apache-2.0

internal import MP4
internal import Media

/// Which packets of AAC are copied, and where. Pure.
///
/// All packets of a track lie on one grid of 1024 samples; those of two files seldom lie on the same. Copied packets come
/// where they belong to within half a millisecond, or else their clip's frames come later or sooner together with them, by half
/// a packet at the most: so audio and frames of one clip are never apart.
struct AudioGrid {
    /// The audio of one clip, with times in samples.
    struct Piece {
        /// Where its frames would lie if nothing were moved.
        var range: Range<Int64>
        /// How much later a position of its file is in the result then.
        var shift: Int64
        /// How much larger its shift is than the previous clip's, if its audio continues the previous clip's.
        var continuation: Int64?
        /// How long its transition lasts.
        var lead: Int64
        /// What there is in its file.
        var available: Range<Int64>
        /// Its packets, if they can be copied.
        var packets: [IndexedSample]
    }

    /// How the pieces of one result are laid.
    struct Rules {
        var mode: StitchAudio
        /// Samples a second.
        var rate: Int64
        /// Samples that a frame lasts.
        var frame: Int64
        /// Samples by which fades may reach over a cut.
        var margin: Int64
        /// Whether copied packets of a clip can meet new ones in front of its packet with this number.
        var isSeam: (_ clip: Int, _ packet: Int) -> Bool

        /// The shortest clip for whose copied packets frames are moved.
        var longest: Int64 { mode == .copy ? rate : 60 * rate }
        /// By how much audio and frames may be apart: half a millisecond.
        var slack: Int64 { rate / 2000 }
    }

    /// By how much frames come later, by clip.
    private(set) var moves: [Int64]
    /// What a position in its file is later in the result, by clip.
    private(set) var shifts: [Int64]
    /// The packets that are copied, by clip; nil where none is, and empty where a neighbour's packets cover all.
    private(set) var copies: [Range<Int>?]
    /// Why packets that could be copied are not, by clip.
    private(set) var reasons: [String?]
    /// Where packets begin, less than one behind 0.
    private(set) var phase: Int64 = 0

    /// Samples of a packet (ISO/IEC 14496-3, 4.5.1.1).
    static let step: Int64 = 1024
    /// The fewest packets worth a seam on both sides, and in how many a seam is looked for.
    private static let (fewest, reach) = (16, 43)
    /// Samples by which two pieces of one recording may seem to be apart because their times were rounded.
    private static let rounding: Int64 = 2

    private let pieces: [Piece]
    private let rules: Rules

    init(_ pieces: [Piece], _ rules: Rules) {
        (self.pieces, self.rules) = (pieces, rules)
        moves = pieces.map { _ in 0 }
        shifts = pieces.map(\.shift)
        copies = pieces.map { _ in nil }
        reasons = copies.map { _ in nil }
        let stretches = self.stretches
        let anchor = anchor(stretches)
        if let anchor { phase = Self.modulo(start(anchor.lowerBound) + pieces[anchor.lowerBound].shift) }
        var move: Int64 = 0
        for stretch in stretches { lay(stretch, &move, hasGrid: anchor != nil) }
    }

    private func start(_ clip: Int) -> Int64 { pieces[clip].packets.first?.pts ?? 0 }

    private static func modulo(_ value: Int64) -> Int64 { ((value % step) + step) % step }

    private func length(_ stretch: Range<Int>) -> Int64 {
        pieces[stretch.upperBound - 1].range.upperBound - pieces[stretch.lowerBound].range.lowerBound
    }

    private func isCopyable(_ stretch: Range<Int>) -> Bool {
        rules.mode != .encode && stretch.allSatisfy { !pieces[$0].packets.isEmpty } && length(stretch) >= rules.rate
    }

    /// Ranges of clips that each continue the audio of the clip before them, packet by packet.
    private var stretches: [Range<Int>] {
        var found: [Range<Int>] = []
        for clip in pieces.indices {
            if let last = found.last, goesOn(clip) {
                found[found.count - 1] = last.lowerBound..<clip + 1
            } else {
                found.append(clip..<clip + 1)
            }
        }
        return found
    }

    private func goesOn(_ clip: Int) -> Bool {
        let piece = pieces[clip]
        guard clip > 0, let continuation = piece.continuation, let last = pieces[clip - 1].packets.last,
            !piece.packets.isEmpty, abs(pieces[clip - 1].shift + continuation - piece.shift) <= Self.rounding
        else { return false }
        let distance = start(clip) + continuation - start(clip - 1)
        return Self.modulo(distance) == 0 && start(clip) + continuation <= last.pts + Self.step
    }

    /// The stretch whose packets stay where they are: the first for which others' frames would be moved, or the longest.
    private func anchor(_ stretches: [Range<Int>]) -> Range<Int>? {
        let found = stretches.filter(isCopyable)
        return found.first { length($0) >= rules.longest } ?? found.max { length($0) < length($1) }
    }

    private mutating func lay(_ stretch: Range<Int>, _ move: inout Int64, hasGrid: Bool) {
        let first = stretch.lowerBound
        place(stretch, pieces[first].shift + move, move)
        if first > 0, let continuation = pieces[first].continuation {
            let same = shifts[first - 1] + continuation
            if abs(same - shifts[first]) <= Self.rounding + rules.slack { place(stretch, same, move) }
        }
        guard hasGrid, isCopyable(stretch) else {
            for clip in stretch where length(stretch) < rules.rate { reasons[clip] = "it is shorter than a second" }
            return
        }
        let residual = Self.modulo(phase - start(first) - shifts[first] + Self.step / 2 - 1) - Self.step / 2 + 1
        for clip in stretch { reasons[clip] = "at its ends no two long windows lie beside each other" }
        if abs(residual) <= rules.slack {
            copy(stretch, shifts[first] + residual, move)
        } else if length(stretch) >= rules.longest {
            // No frame lasts less than half of its time.
            let step = residual < -rules.frame / 2 ? residual + Self.step : residual
            if copy(stretch, shifts[first] + step, move + step) { move += step }
        } else {
            for clip in stretch { reasons[clip] = "its packets do not fit those that are copied" }
        }
    }

    private mutating func place(_ stretch: Range<Int>, _ shift: Int64, _ move: Int64) {
        for clip in stretch {
            moves[clip] = move
            shifts[clip] = clip == stretch.lowerBound ? shift : shifts[clip - 1] + (pieces[clip].continuation ?? 0)
        }
    }

    /// Copies the packets of a stretch with `shift` for its first clip, if they can be joined at both ends.
    @discardableResult
    private mutating func copy(_ stretch: Range<Int>, _ shift: Int64, _ move: Int64) -> Bool {
        let before = (moves, shifts)
        place(stretch, shift, move)
        let (first, last) = (stretch.lowerBound, stretch.upperBound - 1)
        guard var low = entry(first), let high = exit(last),
            high * Self.step + start(last) + shifts[last] - low * Self.step - start(first) - shifts[first]
                >= Int64(Self.fewest) * Self.step
        else {
            (moves, shifts) = before
            return false
        }
        for clip in stretch where low >= 0 {
            let position = pieces[clip].range.upperBound + move - shifts[clip]
            let end = clip == last ? high : min(Int64(pieces[clip].packets.count), count(before: position, clip))
            copies[clip] = Int(low)..<Int(max(low, end))
            guard clip < last else { break }
            let next = start(clip) + shifts[clip] + max(low, end) * Self.step
            low = (next - start(clip + 1) - shifts[clip + 1]) / Self.step
        }
        guard low < 0 else { return true }
        (moves, shifts) = before
        for clip in stretch { copies[clip] = nil }
        return false
    }

    /// How many packets of `clip` begin before `position` in its file; less than 0 for places before all.
    private func count(before position: Int64, _ clip: Int) -> Int64 {
        let distance = position - start(clip)
        return distance > 0 ? (distance + Self.step - 1) / Self.step : distance / Self.step
    }

    /// The first packet of `clip` that is copied: the one before the first that is heard, which the decoder needs, or one that
    /// may follow a new one.
    private func entry(_ clip: Int) -> Int64? {
        let (piece, shift) = (pieces[clip], shifts[clip])
        if clip == 0, piece.available.lowerBound + shift <= 0 {
            return max(0, count(before: 1 - shift, clip) - 2)
        }
        let edge = piece.range.lowerBound + moves[clip] + piece.lead - shift
        let low = max(1, count(before: max(edge, piece.available.lowerBound) + rules.margin, clip))
        let range = Int(low)..<max(Int(low), min(Int(low) + Self.reach, piece.packets.count))
        return range.first { rules.isSeam(clip, $0) }.map(Int64.init)
    }

    /// The packet of `clip` in front of which copying ends.
    private func exit(_ clip: Int) -> Int64? {
        let (piece, shift) = (pieces[clip], shifts[clip])
        let end = piece.range.upperBound + moves[clip] - shift
        if clip == pieces.count - 1, piece.available.upperBound >= end - Self.step {
            return min(Int64(piece.packets.count), count(before: end, clip))
        }
        // The packet itself is coded again, of samples that are this clip's alone.
        let high = Int(count(before: min(end, piece.available.upperBound) - rules.margin, clip)) - 2
        let upper = max(1, min(high, piece.packets.count))
        let range = min(upper, max(1, high - Self.reach))..<upper
        return range.last { rules.isSeam(clip, $0) }.map(Int64.init)
    }
}
