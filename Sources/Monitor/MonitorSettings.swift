// SPDX-License-Identifier: Apache-2.0

/// What is watched of a program, and what is an alarm.
package struct MonitorSettings: Sendable, Hashable {
    /// How long audio must be silent for an alarm; nil for none.
    package var silence: Duration? = .seconds(10)
    /// What all samples of silent audio stay below, in dBFS; -100 to -20.
    package var silenceLevel = -60.0
    /// How long video must be black for an alarm; nil for none.
    package var black: Duration? = .seconds(10)
    /// Up to which brightness a pixel is dark, in percent of full brightness; 1 to 50.
    package var blackLevel = 10.0
    /// How long video must stand still for an alarm; nil for none.
    package var frozen: Duration? = .seconds(30)
    /// How many pixels of a frame may change that stands still, in percent; 0 to 20.
    package var frozenLevel = 0.05
    /// Whether loudness is measured.
    package var measuresLoudness = false
    /// The loudness that audio is brought to, in LUFS; nil for its own.
    package var loudness: Double?

    /// The usual ones: alarms, and no loudness.
    package init() {}
}

/// What an operator sees of the monitors.
package struct MonitorStatus: Sendable, Codable, Hashable {
    /// The loudness of what goes on air; nil if it is not measured.
    package var loudness: LoudnessStatus?
    /// The gain that brings audio to its loudness now, in dB; nil if that is not asked for.
    package var gain: Double?
    /// Silent audio; nil without an alarm.
    package var silence: AlarmStatus?
    /// Black video; nil without an alarm.
    package var black: AlarmStatus?
    /// Video that stands still; nil without an alarm.
    package var frozen: AlarmStatus?

    /// Nothing is watched.
    package init() {}
}
