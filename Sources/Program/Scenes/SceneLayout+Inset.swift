// SPDX-License-Identifier: Apache-2.0

internal import Kernels

extension SceneLayout {
    /// Where the second source of ``Kind/pip`` is placed: its upper left corner and its width, as fractions of the
    /// frame.
    package struct Inset: Sendable, Codable, Equatable {
        package var x: Double
        package var y: Double
        package var width: Double

        /// The standard place: a quarter of the frame's width, in the lower right corner, at a distance of a fortieth
        /// of the frame from the edges.
        package static let standard = Inset(x: 0.725, y: 0.725, width: 0.25)

        /// Creates an inset with its upper left corner at (x, y).
        package init(x: Double, y: Double, width: Double) { (self.x, self.y, self.width) = (x, y, width) }

        /// Creates an inset in a corner of the frame, at a distance of a fortieth of the frame from the edges.
        package init(_ corner: Corner, width: Double = 0.25) {
            let (near, far) = (Corner.margin, 1 - Corner.margin - width)
            self.init(x: corner.isRight ? far : near, y: corner.isLow ? far : near, width: width)
        }

        /// How a source with another aspect ratio fits into the inset: the whole source is visible, moved towards the
        /// nearest corner of the frame.
        var shape: Placement.Shape {
            let way = 1 - width - 2 * Corner.margin
            func part(_ start: Double) -> Double { way > 0 ? min(1, max(0, (start - Corner.margin) / way)) : 0.5 }
            return Placement.Shape(area: .init(x: x, y: y, width: width, height: width), across: part(x), down: part(y))
        }

        /// Creates an inset from the values that users write: either `corner`, or `x` and `y`. A value that is nil has
        /// its standard value. Throws if both a corner and coordinates are given.
        package init(corner: Corner?, x: Double?, y: Double?, width: Double?) throws(Fault) {
            guard let corner else {
                let usual = Self.standard
                self.init(x: x ?? usual.x, y: y ?? usual.y, width: width ?? usual.width)
                return
            }
            if x != nil || y != nil {
                throw Fault(description: "An inset has a corner or x and y: leave one of them out.")
            }
            self.init(corner, width: width ?? 0.25)
        }
    }

    /// A corner of the frame.
    package enum Corner: String, Sendable, Codable, CaseIterable {
        case topLeft = "top-left"
        case topRight = "top-right"
        case bottomLeft = "bottom-left"
        case bottomRight = "bottom-right"

        fileprivate static let margin = 0.025
        fileprivate var isRight: Bool { self == .topRight || self == .bottomRight }
        fileprivate var isLow: Bool { self == .bottomLeft || self == .bottomRight }
    }
}

extension SceneLayout.Inset {
    private enum Key: String, CodingKey, CaseIterable { case corner, x, y, width }

    /// The keys that a user's description of an inset may have.
    package static var keys: [String] { Key.allCases.map(\.rawValue) }

    /// Reads either `x`, `y` and `width`, or `corner` and `width`. With `corner`, `width` may be missing and is then a
    /// quarter.
    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        guard let corner = try container.decodeIfPresent(SceneLayout.Corner.self, forKey: .corner) else {
            self.init(
                x: try container.decode(Double.self, forKey: .x), y: try container.decode(Double.self, forKey: .y),
                width: try container.decode(Double.self, forKey: .width))
            return
        }
        try self.init(
            corner: corner, x: container.decodeIfPresent(Double.self, forKey: .x),
            y: container.decodeIfPresent(Double.self, forKey: .y),
            width: container.decodeIfPresent(Double.self, forKey: .width))
    }
}
