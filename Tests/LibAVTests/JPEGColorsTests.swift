// SPDX-License-Identifier: Apache-2.0

import Media
import TestSupport
import Testing

@testable import LibAV

@Suite("Colors of JPEG files")
struct JPEGColorsTests {
    /// A way to code colors, with the weights of red and blue in its matrix (ITU-T H.273, table 4).
    struct Coding: Sendable {
        let color: ColorDescription
        let red: Double
        let blue: Double

        /// The samples of a color whose red, green and blue are from 0 to 1.
        func samples(_ rgb: [Double]) -> [UInt8] {
            let luma = red * rgb[0] + (1 - red - blue) * rgb[1] + blue * rgb[2]
            let (cb, cr) = ((rgb[2] - luma) / (2 * (1 - blue)), (rgb[0] - luma) / (2 * (1 - red)))
            let scale: Double = color.isFullRange ? 255 : 224
            let y: Double = color.isFullRange ? 255 * luma : 16 + 219 * luma
            return [y, 128 + scale * cb, 128 + scale * cr].map { UInt8(min(255, max(0, $0.rounded()))) }
        }
    }

    static let codings = [
        Coding(color: .bt709, red: 0.2126, blue: 0.0722),
        Coding(
            color: ColorDescription(primaries: 9, transfer: 14, matrix: 9, isFullRange: false), red: 0.2627,
            blue: 0.0593),
        Coding(
            color: ColorDescription(primaries: 1, transfer: 1, matrix: 1, isFullRange: true), red: 0.2126,
            blue: 0.0722),
        Coding(color: .bt601With525Lines, red: 0.299, blue: 0.114),
    ]

    /// The colors of JPEG files.
    private let files = Coding(
        color: ColorDescription(primaries: 6, transfer: 6, matrix: 6, isFullRange: true), red: 0.299, blue: 0.114)

    /// All colors whose red, green and blue are 0, 0.5 or 1.
    private let colors: [[Double]] = (0..<27).map { number in
        [number % 3, number / 3 % 3, number / 9].map { Double($0) / 2 }
    }

    /// A frame of 32x32 pixels of one color.
    private func frame(_ samples: [UInt8]) -> VideoFrame {
        let buffer = FrameBuffer(width: 32, height: 32) { bytes in
            for index in bytes.indices { bytes[index] = samples[index < 1024 ? 0 : index < 1280 ? 1 : 2] }
        }
        return VideoFrame(pts: 0, timeBase: .milliseconds, width: 32, height: 32, storage: buffer)
    }

    @Test("Colors of every matrix and range become those of BT.601 in full range", arguments: codings)
    func converted(coding: Coding) throws {
        let conversion = try #require(JPEGColors(from: coding.color))
        for color in colors {
            var (luma, samples) = ([UInt8](repeating: coding.samples(color)[0], count: 4), coding.samples(color))
            luma.withUnsafeMutableBufferPointer { luma in
                samples.withUnsafeMutableBufferPointer { samples in
                    guard let y = luma.baseAddress, let chroma = samples.baseAddress else { return }
                    conversion.convert(
                        y: .init(samples: y, stride: 2), u: .init(samples: chroma + 1, stride: 1),
                        v: .init(samples: chroma + 2, stride: 1), width: 2, height: 2)
                }
            }
            let found = (luma + samples.dropFirst()).map(Int.init)
            let (expected, wanted) = (files.samples(color).map(Int.init), [0, 0, 0, 0, 1, 2])
            #expect(
                zip(found, wanted).allSatisfy { abs($0 - expected[$1]) <= 2 }, "\(color): \(found), not \(expected)")
        }
    }

    @Test("Frames that have the colors of JPEG files are not converted")
    func same() { #expect(JPEGColors(from: files.color) == nil) }

    @Test("A program's frame and its JPEG file show the same color", arguments: codings)
    func shown(coding: Coding) throws {
        let directory = try TemporaryDirectory()
        for color in [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]] as [[Double]] {
            let file = try Snapshot.jpeg(of: frame(coding.samples(color)), color: coding.color)
            try directory.write(file, to: "color.jpg")
            let image = try PixelImage(file: directory.path("color.jpg")) { ($0, $1) }
            let found = image.pixels.prefix(3).map(Int.init)
            #expect(
                zip(found, color).allSatisfy { abs($0 - Int($1 * 255)) <= 8 }, "\(found), not \(color)")
        }
    }
}
