// SPDX-License-Identifier: Apache-2.0

internal import MP4
internal import Media

/// Decides which packets of AAC are copied, and to which positions. The type does no I/O.
///
/// All packets of a track begin on one grid of 1024 samples, and packets of two files rarely fit the same grid.
/// Therefore a copied packet is moved to the grid, by at most half a millisecond. If a packet must be moved further,
/// the frames of its clip and of all later clips are moved by the same time, by at most half a packet (at high frame
/// rates, by less than a packet). So the audio and the frames of one clip always stay in sync.
struct AudioGrid {
    /// The audio of one clip, with times in samples.
    struct Piece {
        /// The range of the clip's frames in the result, in samples, if no frame is moved.
        var range: Range<Int64>
        /// What must be added to a position in the clip's file to get its position in the result, if no frame is moved.
        var shift: Int64
        /// The difference between this clip's shift and the previous clip's shift, if this clip's audio continues the
        /// previous clip's audio; otherwise nil.
        var continuation: Int64?
        /// The duration of the transition from the previous clip to this clip, in samples.
        var lead: Int64
        /// The range of the audio in the clip's file, in samples.
        var available: Range<Int64>
        /// The clip's packets; empty if they cannot be copied.
        var packets: [IndexedSample]
    }

    /// The rules by which the packets of a stitched file are chosen and joined. All pieces of the file have the same
    /// rules.
    struct Rules {
        var mode: StitchAudio
        /// Samples per second.
        var rate: Int64
        /// The duration of a frame in samples.
        var frame: Int64
        /// How many samples beyond a cut a fade can extend.
        var margin: Int64
        /// Whether new packets of a clip can be joined to its copied packets directly before the packet with this
        /// number.
        var isSeam: (_ clip: Int, _ packet: Int) -> Bool

        /// The minimum length, in samples, of a clip whose frames are moved so that its packets can be copied.
        var longest: Int64 { mode == .copy ? rate : 60 * rate }
        /// How far audio and frames are allowed to be out of sync, in samples: half a millisecond.
        var slack: Int64 { rate / 2000 }
    }

    /// For each clip: by how many samples its frames are moved later, so that its packets fit the grid.
    private(set) var moves: [Int64]
    /// For each clip: what must be added to a position in its file to get the position in the result.
    private(set) var shifts: [Int64]
    /// For each clip: the packets that are copied. Nil if no packet of the clip is copied; empty if packets of a
    /// neighbouring clip cover all of it.
    private(set) var copies: [Range<Int>?]
    /// For each clip: why packets that could be copied are not copied. Valid only for a clip of which no packet is
    /// copied.
    private(set) var reasons: [String?]
    /// The position of the grid: the position at which any packet begins, modulo the length of a packet.
    private(set) var phase: Int64 = 0

    /// The number of samples in a packet (ISO/IEC 14496-3, 4.5.1.1).
    static let step: Int64 = 1024
    /// `fewest` is the smallest number of packets that are copied in a row: a shorter run is not worth two seams (a
    /// seam is where a copied packet is joined to a new one). `reach` is the number of packets among which a seam is
    /// searched.
    private static let (fewest, reach) = (16, 43)
    /// The maximum distance, in samples, between two pieces of one recording that counts as a rounding error and not as
    /// a gap.
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

    /// The stretches: ranges of clips in which the audio of each clip continues the audio of the previous clip without
    /// a gap between packets.
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

    /// Returns the stretch (one of ``stretches``) whose packets determine the grid, so that these packets are not
    /// moved. It is the first stretch that is long enough for its frames to be moved; if no stretch is long enough, it
    /// is the longest one.
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
            // Instead of moving frames earlier by more than half a frame, moves them later, because the frame before
            // them must not become shorter than half its duration.
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

    /// Copies the packets of the clips in `stretch` if they can be joined to new packets at both ends; the first clip
    /// gets the shift `shift`. Returns whether the packets were copied.
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

    /// The number of packets of `clip` that begin before `position` in its file; negative for positions before the
    /// first packet.
    private func count(before position: Int64, _ clip: Int) -> Int64 {
        let distance = position - start(clip)
        return distance > 0 ? (distance + Self.step - 1) / Self.step : distance / Self.step
    }

    /// The number of the first packet of `clip` that is copied. At the start of the result, it is the packet before the
    /// first packet that is played, because the decoder needs that packet. Otherwise it is a packet that can follow a
    /// new packet.
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

    /// The number of the first packet of `clip` after the copied ones.
    private func exit(_ clip: Int) -> Int64? {
        let (piece, shift) = (pieces[clip], shifts[clip])
        let end = piece.range.upperBound + moves[clip] - shift
        if clip == pieces.count - 1, piece.available.upperBound >= end - Self.step {
            return min(Int64(piece.packets.count), count(before: end, clip))
        }
        // The packet with the returned number is the first one that is re-encoded. `high` is limited so that this
        // packet contains only samples of this clip.
        let high = Int(count(before: min(end, piece.available.upperBound) - rules.margin, clip)) - 2
        let upper = max(1, min(high, piece.packets.count))
        let range = min(upper, max(1, high - Self.reach))..<upper
        return range.last { rules.isSeam(clip, $0) }.map(Int64.init)
    }
}
