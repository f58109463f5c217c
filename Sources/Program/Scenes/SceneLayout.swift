// SPDX-License-Identifier: Apache-2.0

package import Kernels
package import Media

/// A scene as users describe it: its layout and the names of its sources.
package struct SceneLayout: Sendable, Codable, Equatable {
    /// How the sources of a scene are arranged.
    package enum Kind: String, Sendable, Codable, CaseIterable {
        /// One source fills the frame.
        case single
        /// The first source fills the frame, and the second one is a small inset in front of it.
        case pip
        /// Two sources are side by side.
        case splitHorizontal = "split-horizontal"
        /// Two sources are one above the other.
        case splitVertical = "split-vertical"
        /// Up to nine sources are in rows and columns.
        case grid
        /// The slate is shown, without any source.
        case slate
    }

    /// How a source fits into an area that has another aspect ratio.
    package enum Fit: String, Sendable, Codable, CaseIterable {
        /// The source is cropped: its center fills the area.
        case crop
        /// The whole source is visible, with bars on both sides, or above and below.
        case contain
    }

    /// Says in one sentence why a scene is not possible.
    package struct Fault: Error, Equatable, CustomStringConvertible {
        package let description: String
    }

    /// The width of an inset's border and the radius of its corners, as fractions of the program's height.
    private static let (border, radius) = (1.0 / 360, 1.0 / 60)

    /// How the sources are arranged.
    package var layout: Kind
    /// The names of the scene's sources. The main source is first.
    package var sources: [String]
    /// Where the second source is placed in ``Kind/pip``; nil for the standard place.
    package var inset: Inset?
    /// How sources fit into the halves of a split; nil means that they are cropped.
    package var fit: Fit?

    /// The names of the scene's overlays; nil for no overlays.
    package var overlays: [String]?

    private enum CodingKeys: String, CodingKey, CaseIterable { case layout, sources, inset, fit, overlays }

    /// The keys that a user's description of a scene may have.
    package static var keys: [String] { CodingKeys.allCases.map(\.rawValue) }

    /// The maximum number of overlays in a scene.
    private static let mostOverlays = 16

    package init(_ layout: Kind, _ sources: [String], inset: Inset? = nil, fit: Fit? = nil, overlays: [String]? = nil) {
        (self.layout, self.sources, self.inset, self.fit) = (layout, sources, inset, fit)
        self.overlays = overlays
    }

    /// The scene's settings for inset and fit, in the form in which users write them: `x=0.5`, `fit=contain`.
    package var details: [String] {
        let place = inset.map { ["x=\($0.x)", "y=\($0.y)", "width=\($0.width)"] } ?? []
        return place + (fit.map { ["fit=\($0.rawValue)"] } ?? [])
    }

    /// How many sources this layout can have.
    private var counts: ClosedRange<Int> {
        switch layout {
        case .single: 1...1
        case .pip, .splitHorizontal, .splitVertical: 2...2
        case .grid: 1...9
        case .slate: 0...0
        }
    }

    /// Throws if the scene is not possible: it has a wrong number of sources, too many overlays, a source or an overlay
    /// twice, an inset outside of the frame, or settings that its layout does not have.
    package func check() throws(Fault) {
        guard counts.contains(sources.count) else {
            let wanted = counts.count == 1 ? "\(counts.lowerBound)" : "\(counts.lowerBound) to \(counts.upperBound)"
            throw Fault(description: "The layout \(layout.rawValue) takes \(wanted) sources, not \(sources.count).")
        }
        if let twice = sources.first(where: { name in sources.count { $0 == name } > 1 }) {
            throw Fault(description: "The source \(twice) is in the scene twice.")
        }
        let names = overlays ?? []
        if names.count > Self.mostOverlays {
            throw Fault(description: "A scene has at most \(Self.mostOverlays) overlays.")
        }
        if let twice = names.first(where: { name in names.count { $0 == name } > 1 }) {
            throw Fault(description: "The overlay \(twice) is in the scene twice.")
        }
        try checkDetails()
    }

    private func checkDetails() throws(Fault) {
        if fit != nil, layout != .splitHorizontal, layout != .splitVertical {
            throw Fault(description: "fit is for a split: the layout \(layout.rawValue) shows all of its sources.")
        }
        guard let inset else { return }
        guard layout == .pip else {
            throw Fault(description: "An inset is for pip: the layout \(layout.rawValue) has none.")
        }
        guard inset.width >= 0.05, inset.width <= 1, (0...1).contains(inset.x), (0...1).contains(inset.y),
            inset.x + inset.width <= 1.0001, inset.y + inset.width <= 1.0001
        else {
            throw Fault(
                description: "The inset lies outside of the frame: x and y are from 0 to 1, width from 0.05 to 1, and "
                    + "neither x + width nor y + width is over 1.")
        }
    }

    /// Returns where the sources are placed, in the order of ``sources``. `color` is the color description of the
    /// program's frames; the inset's border needs it.
    package func placements(in color: ColorDescription) -> [Placement] {
        let fits = fit == .contain
        switch layout {
        case .slate: return []
        case .single: return [.full]
        case .grid where sources.count == 1: return [.full]
        case .pip:
            let inset = inset ?? .standard
            return [
                .full,
                Placement(
                    destination: .init(x: inset.x, y: inset.y, width: inset.width, height: inset.width),
                    cornerRadius: Self.radius,
                    border: .init(width: Self.border, color: PixelColor(.white, in: color)), shape: inset.shape),
            ]
        case .splitHorizontal: return (0..<2).map { .part($0, of: 2, horizontal: true, fits: fits) }
        case .splitVertical: return (0..<2).map { .part($0, of: 2, horizontal: false, fits: fits) }
        case .grid:
            let columns = sources.count <= 4 ? 2 : 3
            let rows = (sources.count + columns - 1) / columns
            return sources.indices.map { index in
                // Cells have the aspect ratio of the frame. If there are fewer rows than columns, the cells are
                // centered between bars above and below.
                var place = Placement.cell(index, columns: columns, rows: columns)
                let lack = Double(columns - rows) / Double(2 * columns)
                place.destination.y += lack
                place.shape?.area.y += lack
                return place
            }
        }
    }
}

extension SceneLayout.Kind {
    package init(from decoder: any Decoder) throws { try self.init(decoding: decoder, kind: "layout") }
}

extension SceneLayout.Fit {
    package init(from decoder: any Decoder) throws { try self.init(decoding: decoder, kind: "fit") }
}

extension SceneLayout.Corner {
    package init(from decoder: any Decoder) throws { try self.init(decoding: decoder, kind: "corner") }
}
