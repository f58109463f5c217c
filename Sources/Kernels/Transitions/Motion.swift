// SPDX-License-Identifier: Apache-2.0

/// The direction of motion of slides, pushes and wipes. These transitions copy samples unchanged.
///
/// Edges are on even pixels, so that luma and chroma change at the same position.
enum Motion {
    case left
    case right
    case up
    case down

    private var isHorizontal: Bool { self == .left || self == .right }
    private var isForward: Bool { self == .right || self == .down }

    /// `b` moves in over `a`, which does not move.
    func slide(_ a: SourcePlanes, _ b: SourcePlanes, _ progress: Double, _ target: TargetPlanes) {
        draw(a, b, progress, target, movesA: false, movesB: true)
    }

    /// `b` moves in and pushes `a` out.
    func push(_ a: SourcePlanes, _ b: SourcePlanes, _ progress: Double, _ target: TargetPlanes) {
        draw(a, b, progress, target, movesA: true, movesB: true)
    }

    /// Neither frame moves; only the edge between them moves.
    func wipe(_ a: SourcePlanes, _ b: SourcePlanes, _ progress: Double, _ target: TargetPlanes) {
        draw(a, b, progress, target, movesA: false, movesB: false)
    }

    private func draw(
        _ a: SourcePlanes, _ b: SourcePlanes, _ progress: Double, _ target: TargetPlanes, movesA: Bool, movesB: Bool
    ) {
        let length = isHorizontal ? target.y.width : target.y.height
        let shown = min(length, max(0, Int((progress * Double(length) / 2).rounded()) * 2))
        target.forEach(a, b) { plane, a, b in
            let whole = isHorizontal ? plane.width : plane.height
            let part = whole == length ? shown : shown / 2
            // `b` fills `part` columns or rows, on the side from which it comes; `a` fills the rest.
            let (startB, startA) = isForward ? (0, part) : (whole - part, 0)
            let fromB = movesB ? (isForward ? whole - part : 0) : startB
            let fromA = movesA ? (isForward ? 0 : part) : startA
            copy(b, from: fromB, to: startB, part, plane)
            copy(a, from: fromA, to: startA, whole - part, plane)
        }
    }

    /// Copies `length` columns or rows of `source`, from position `from` to position `to` of `plane`.
    private func copy(_ source: SourcePlane, from: Int, to: Int, _ length: Int, _ plane: TargetPlane) {
        if isHorizontal {
            let part = PixelRectangle(x: from, y: 0, width: length, height: plane.height)
            plane.copy(source, part: part, toX: to, y: 0)
        } else {
            let part = PixelRectangle(x: 0, y: from, width: plane.width, height: length)
            plane.copy(source, part: part, toX: 0, y: to)
        }
    }
}
