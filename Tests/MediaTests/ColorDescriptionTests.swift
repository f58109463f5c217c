// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Media

@Suite("Color descriptions")
struct ColorDescriptionTests {
    @Test(
        "Video without color tags gets the usual color description for its frame size",
        arguments: [
            (720, 576, ColorDescription.bt601With625Lines), (352, 288, .bt601With625Lines),
            (576, 720, .bt601With625Lines), (720, 480, .bt601With525Lines), (640, 360, .bt601With525Lines),
            (960, 540, .bt601With525Lines), (1280, 720, .bt709), (720, 1280, .bt709), (1280, 534, .bt709),
            (960, 720, .bt709), (1920, 1080, .bt709), (16, 16, .bt601With525Lines),
        ])
    func size(width: Int, height: Int, expected: ColorDescription) {
        #expect(ColorDescription.unspecified.resolved(width: width, height: height) == expected)
    }

    @Test("Color tags that are set are kept, and determine those that are missing")
    func specified() {
        let matrixAlone = ColorDescription(primaries: 2, transfer: 2, matrix: 6, isFullRange: true)
        let range601 = ColorDescription(primaries: 6, transfer: 6, matrix: 6, isFullRange: true)
        #expect(matrixAlone.resolved(width: 1920, height: 1080) == range601)
        let primariesAlone = ColorDescription(primaries: 9, transfer: 16, matrix: 2, isFullRange: false)
        #expect(
            primariesAlone.resolved(width: 640, height: 360)
                == ColorDescription(primaries: 9, transfer: 16, matrix: 9, isFullRange: false))
        let unusual = ColorDescription(primaries: 2, transfer: 2, matrix: 7, isFullRange: false)
        #expect(unusual.resolved(width: 1920, height: 1080).matrix == 7)
        for color in [ColorDescription.bt709, .bt601With525Lines, .bt601With625Lines] {
            #expect(color.resolved(width: 720, height: 576) == color)
            #expect(color.resolved(width: 1920, height: 1080) == color)
        }
    }
}
