// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Glibc
internal import Kernels
package import Media
package import Networking
package import Program

/// An overlay in the syntax of the command-line option: `name=image:file` or `name=text:text`, with its position and
/// other options after a `#`.
package struct OverlaySpecification: Sendable, Equatable {
    /// The content of an overlay.
    package enum Content: Sendable, Equatable {
        case image(path: String)
        case text(OverlayText)
    }

    /// The size of an overlay, as a fraction of the program's size.
    enum Size: Sendable, Equatable {
        case width(Double)
        case height(Double)
        /// The image's own size, or its own height if the program's pixels are not square.
        case natural
    }

    private enum Answer: String, CaseIterable {
        case yes
        case no
    }

    /// The maximum number of overlays in a program.
    package static let most = 16
    /// The maximum size of an image file or a font file, in bytes.
    private static let mostBytes = 64 << 20
    private static let usualHeight = 0.05

    package let name: String
    package let content: Content
    /// The position of the upper left corner, as fractions of the frame.
    let (x, y): (Double, Double)
    let size: Size
    let opacity: Double
    /// Whether the overlay is visible in every scene, or in no scene; nil if each scene determines whether it is
    /// visible.
    let isVisible: Bool?
    /// The color of a text.
    let color: RGBColor
    /// The file of the font; nil means the system's default font.
    package let font: String?

    /// Parses `text`, and checks the image file and the font file that it names.
    package init(_ text: String) throws(TextFailure) {
        guard let match = text.wholeMatch(of: /([A-Za-z0-9._-]{1,40})=(image|text):(.+)/) else {
            throw TextFailure(
                "\(option: "--overlay") is NAME=image:FILE or NAME=text:TEXT, such as "
                    + "logo=image:logo.png#x=0.8,y=0.05,width=0.15."
            )
        }
        let (name, rest) = (String(match.output.1), String(match.output.3))
        let mark = rest.firstRange(of: /#[a-z][a-z-]*=/)
        let subject = String(rest[..<(mark?.lowerBound ?? rest.endIndex)])
        let isImage = match.output.2 == "image"
        self.name = name
        do {
            let behind = mark.map { rest[rest.index(after: $0.lowerBound)...] } ?? ""
            var options = try OptionList(behindMark: behind, of: "overlay") { $0 }
            x = try options.takeFraction("x") ?? Self.usualHeight
            y = try options.takeFraction("y") ?? Self.usualHeight
            size = try Self.size(taking: &options, isImage: isImage)
            opacity = try options.takeFraction("opacity") ?? 1
            isVisible = try options.takeChoice("visible", of: Answer.self).map { $0 == .yes }
            color = isImage ? .white : try Self.color(taking: &options)
            font = isImage ? nil : try options.take("font")
            try options.finish()
            content = isImage ? .image(path: subject) : .text(try OverlayText(subject))
        } catch {
            throw TextFailure("\(option: "--overlay", .name(name)): \(error)")
        }
        let option = OptionReference("--overlay", .name(name))
        if isImage { try Self.check(subject, of: option, most: Self.mostBytes) }
        if let font { try Self.check(font, of: option, most: Self.mostBytes) }
    }

    private static func size(taking options: inout OptionList, isImage: Bool) throws(AddressError) -> Size {
        let height = try options.takeFraction("height", from: 0.01)
        guard isImage else { return .height(height ?? usualHeight) }
        let width = try options.takeFraction("width", from: 0.01)
        switch (width, height) {
        case (nil, nil): return .natural
        case (let width?, nil): return .width(width)
        case (nil, let height?): return .height(height)
        default: throw AddressError("An image keeps its shape: give width= or height=, not both.")
        }
    }

    private static func color(taking options: inout OptionList) throws(AddressError) -> RGBColor {
        guard let text = try options.take("color") else { return .white }
        guard let color = RGBColor(text) else { throw options.error(in: "color", "is black, white or such as #0a64ff") }
        return color
    }

    /// Throws if `path` is not a readable regular file, or if the file has more than `most` bytes.
    static func check(_ path: String, of option: OptionReference, most: Int) throws(TextFailure) {
        guard let status = FileStatus(path), status.kind == .regular, access(path, R_OK) == 0 else {
            throw TextFailure("\(option): there is no file \(path) that can be read.")
        }
        guard status.size <= most else {
            throw TextFailure("\(option): the file \(path) is larger than \(most >> 20) MB.")
        }
    }
}

extension OptionList {
    /// Takes the option `name`, a fraction of the frame from `least` to 1; nil if the option is not given.
    package mutating func takeFraction(_ name: String, from least: Double = 0) throws(AddressError) -> Double? {
        guard let text = try take(name) else { return nil }
        guard let value = Double(text), (least...1).contains(value) else {
            let bound = least == 0 ? "0" : "\(least)"
            throw error(in: name, "is a number from \(bound) to 1")
        }
        return value
    }
}
