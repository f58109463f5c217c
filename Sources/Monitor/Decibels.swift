// SPDX-License-Identifier: Apache-2.0

internal import Foundation

/// Converts between levels and amplitudes.
enum Decibels {
    /// Returns the amplitude for a level in decibels.
    static func amplitude(_ level: Double) -> Double { pow(10, level / 20) }
    /// Returns the power for a level in decibels.
    static func power(_ level: Double) -> Double { pow(10, level / 10) }
    /// Returns the level of an amplitude in decibels; at least -120.
    static func level(amplitude: Double) -> Double { max(-120, 20 * log10(max(1e-6, amplitude))) }
    /// Returns the level of a power in decibels; at least -120.
    static func level(power: Double) -> Double { max(-120, 10 * log10(max(1e-12, power))) }
}
