// SPDX-License-Identifier: Apache-2.0

/// The weights with which red, green and blue make up luma: the constants of a color matrix (ITU-T H.273, table 4).
package struct LumaWeights: Sendable, Hashable {
    /// The weight of red, Kr.
    package let red: Double
    /// The weight of blue, Kb.
    package let blue: Double

    /// The weight of green, so that the weights of white sum up to 1.
    package var green: Double { 1 - red - blue }

    /// The weights of the matrix in `color`; those of BT.709 if the matrix is unspecified or has no such weights.
    package init(of color: ColorDescription) {
        (red, blue) =
            switch color.matrix {
            case 4: (0.30, 0.11)
            case 5, 6: (0.299, 0.114)
            case 7: (0.212, 0.087)
            case 9, 10: (0.2627, 0.0593)
            default: (0.2126, 0.0722)
            }
    }
}
