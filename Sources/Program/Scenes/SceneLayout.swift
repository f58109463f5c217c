// SPDX-License-Identifier: Apache-2.0

package import Kernels
package import Media

/// A scene as people write it: how it is laid out, and which sources are in it, by name.
package struct SceneLayout: Sendable, Codable, Equatable {
    /// How a scene is laid out.
    package enum Kind: String, Sendable, Codable, CaseIterable {
        /// One source fills the frame.
        case single
        /// The first source fills the frame, and the second stands in it, small.
        case pip
        /// Two sources side by side.
        case splitHorizontal = "split-horizontal"
        /// Two sources one above the other.
        case splitVertical = "split-vertical"
        /// Up to nine sources in rows and columns.
        case grid
        /// What is shown when there is nothing to show.
        case slate
    }

    /// How a source is placed in a part that has another shape.
    package enum Fit: String, Sendable, Codable, CaseIterable {
        /// Its middle fills the part.
        case crop
        /// All of it is seen, with bars.
        case contain
    }

    /// Why a scene is not possible, in a sentence.
    package struct Fault: Error, Equatable, CustomStringConvertible {
        package let description: String
    }

    /// The width of an inset's border and the radius of its corners, as parts of the program's height.
    private static let (border, radius) = (1.0 / 360, 1.0 / 60)

    /// How it is laid out.
    package var layout: Kind
    /// The names of the sources in it, the main one first.
    package var sources: [String]
    /// Where the second source of ``Kind/pip`` is placed; nil for the standard place.
    package var inset: Inset?
    /// How sources are placed in a split; nil if they are cropped.
    package var fit: Fit?

    /// The names of the overlays that are drawn over it; nil for no overlays.
    package var overlays: [String]?

    private enum CodingKeys: String, CodingKey, CaseIterable { case layout, sources, inset, fit, overlays }

    /// What people say of it.
    package static var keys: [String] { CodingKeys.allCases.map(\.rawValue) }

    /// As many as a program has.
    private static let mostOverlays = 16

    /// A scene of these.
    package init(
        _ layout: Kind, _ sources: [String], inset: Inset? = nil, fit: Fit? = nil, overlays: [String]? = nil
    ) {
        (self.layout, self.sources, self.inset, self.fit) = (layout, sources, inset, fit)
        self.overlays = overlays
    }

    /// What it says beside its sources, as the options of a scene: `x=0.5`, `fit=contain`.
    package var details: [String] {
        let place = inset.map { ["x=\($0.x)", "y=\($0.y)", "width=\($0.width)"] } ?? []
        return place + (fit.map { ["fit=\($0.rawValue)"] } ?? [])
    }

    /// How many sources a layout takes.
    private var counts: ClosedRange<Int> {
        switch layout {
        case .single: 1...1
        case .pip, .splitHorizontal, .splitVertical: 2...2
        case .grid: 1...9
        case .slate: 0...0
        }
    }

    /// Throws if it cannot be: another number of sources, one of them or of the overlays twice, an inset outside of the frame,
    /// or details that its layout does not have.
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

    /// Where the sources stand, in the order of ``sources``, in a program of this color.
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
                // Cells have the frame's shape, and rows that lack are bars above and below.
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
