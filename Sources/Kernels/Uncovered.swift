// SPDX-License-Identifier: Apache-2.0

/// The part of a rectangle that other rectangles leave uncovered, as disjoint rectangles. Reuses its memory.
package struct Uncovered {
    /// The uncovered parts.
    package private(set) var parts: [PixelRectangle] = []
    private var former: [PixelRectangle] = []

    /// Empty until ``begin(_:)``.
    package init() {}

    /// Starts with all of `whole` uncovered.
    package mutating func begin(_ whole: PixelRectangle) {
        parts.removeAll(keepingCapacity: true)
        if !whole.isEmpty { parts.append(whole) }
    }

    /// Removes the part that `cover` hides.
    package mutating func cover(_ cover: PixelRectangle) {
        swap(&parts, &former)
        parts.removeAll(keepingCapacity: true)
        for part in former {
            let common = part.intersection(cover)
            if common.isEmpty {
                parts.append(part)
                continue
            }
            let (right, bottom) = (common.x + common.width, common.y + common.height)
            add(part.x, part.y, part.width, common.y - part.y)
            add(part.x, common.y, common.x - part.x, common.height)
            add(right, common.y, part.x + part.width - right, common.height)
            add(part.x, bottom, part.width, part.y + part.height - bottom)
        }
    }

    private mutating func add(_ x: Int, _ y: Int, _ width: Int, _ height: Int) {
        let part = PixelRectangle(x: x, y: y, width: width, height: height)
        if !part.isEmpty { parts.append(part) }
    }
}
