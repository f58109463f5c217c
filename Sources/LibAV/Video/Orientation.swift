// SPDX-License-Identifier: Apache-2.0

package import Media

/// How a decoded frame must be rotated or mirrored to be upright, as a container's display matrix states.
package enum Orientation: String, Sendable, Hashable, CaseIterable {
    /// No change.
    case upright
    /// A quarter turn clockwise.
    case clockwise
    /// Half a turn.
    case halfTurn
    /// A quarter turn counter-clockwise.
    case counterClockwise
    /// Left and right are swapped.
    case mirrored
    /// Top and bottom are swapped.
    case flipped
    /// Mirrored along the falling diagonal: a quarter turn clockwise, then left and right swapped.
    case transposed
    /// Mirrored along the rising diagonal.
    case transversed

    /// Whether width and height are swapped.
    package var swapsAxes: Bool {
        switch self {
        case .clockwise, .counterClockwise, .transposed, .transversed: true
        case .upright, .halfTurn, .mirrored, .flipped: false
        }
    }

    /// The filters that make a frame upright. `hflip` or `copy` comes last because `vflip` alone yields negative
    /// strides.
    var filters: [String] {
        switch self {
        case .upright: []
        case .clockwise: ["transpose=clock"]
        case .halfTurn: ["vflip", "hflip"]
        case .counterClockwise: ["transpose=cclock"]
        case .mirrored: ["hflip"]
        case .flipped: ["vflip", "copy"]
        case .transposed: ["transpose=cclock_flip"]
        case .transversed: ["transpose=clock_flip"]
        }
    }

    /// The orientation that the display matrix of `track` states.
    package init(of track: TrackDescription) {
        self.init(matrix: (track.displayMatrix ?? []).map { Int32(bitPattern: $0) })
    }

    /// Reads the 3x3 display matrix of ISO/IEC 14496-12, 8.3.2: row by row, 16.16 fixed point.
    init(matrix: [Int32]) {
        guard matrix.count == 9 else {
            self = .upright
            return
        }
        let (a, b, c, d) = (matrix[0], matrix[1], matrix[3], matrix[4])
        if abs(Int(a)) + abs(Int(d)) >= abs(Int(b)) + abs(Int(c)) {
            switch (a < 0, d < 0) {
            case (false, false): self = .upright
            case (true, true): self = .halfTurn
            case (true, false): self = .mirrored
            case (false, true): self = .flipped
            }
        } else {
            // x' = a x + c y, y' = b x + d y, with y growing downwards.
            switch (b < 0, c < 0) {
            case (false, true): self = .clockwise
            case (true, false): self = .counterClockwise
            case (false, false): self = .transposed
            case (true, true): self = .transversed
            }
        }
    }

    /// Returns the display matrix for a track with frames of `width` by `height` pixels; nil if the frames are upright.
    func displayMatrix(_ width: Int, _ height: Int) -> [UInt32]? { self == .upright ? nil : matrix(width, height) }

    /// Returns the display matrix for frames of `width` by `height` pixels with this orientation. It also moves the
    /// corner of the rotated frame back to the origin.
    package func matrix(_ width: Int, _ height: Int) -> [UInt32] {
        let (a, b, c, d): (Int32, Int32, Int32, Int32) =
            switch self {
            case .upright: (1, 0, 0, 1)
            case .clockwise: (0, 1, -1, 0)
            case .halfTurn: (-1, 0, 0, -1)
            case .counterClockwise: (0, -1, 1, 0)
            case .mirrored: (-1, 0, 0, 1)
            case .flipped: (1, 0, 0, -1)
            case .transposed: (0, 1, 1, 0)
            case .transversed: (0, -1, -1, 0)
            }
        let left = (a < 0 ? width : 0) + (c < 0 ? height : 0)
        let top = (b < 0 ? width : 0) + (d < 0 ? height : 0)
        func fixed(_ value: Int32) -> UInt32 { UInt32(bitPattern: value << 16) }
        let place = [UInt32(clamping: left << 16), UInt32(clamping: top << 16)]
        return [fixed(a), fixed(b), 0, fixed(c), fixed(d), 0] + place + [0x4000_0000]
    }
}
