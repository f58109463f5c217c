// SPDX-License-Identifier: Apache-2.0

/// Which monitors a program has, and when they raise an alarm.
package struct MonitorSettings: Sendable, Hashable {
    /// How long audio must be silent for an alarm; nil for no alarm.
    package var silence: Duration? = .seconds(10)
    /// The level that no sample of silent audio reaches, in dBFS; -100 to -20.
    package var silenceLevel = -60.0
    /// How long video must be black for an alarm; nil for no alarm.
    package var black: Duration? = .seconds(10)
    /// The brightness up to which a pixel is dark, in percent of full brightness; 1 to 50.
    package var blackLevel = 10.0
    /// How long video must be frozen for an alarm; nil for no alarm.
    package var frozen: Duration? = .seconds(30)
    /// How many pixels of a frozen frame may change, in percent; 0 to 20.
    package var frozenLevel = 0.05
    /// Whether loudness is measured.
    package var measuresLoudness = false
    /// The target loudness in LUFS; nil leaves the audio unchanged.
    package var loudness: Double?

    /// The default settings: all alarms, but no measurement of loudness.
    package init() {}
}

/// The status of the monitors for operators.
package struct MonitorStatus: Sendable, Codable, Hashable {
    /// The loudness on air; nil if it is not measured.
    package var loudness: LoudnessStatus?
    /// The gain that is applied now to reach the target loudness, in dB; nil without a target.
    package var gain: Double?
    /// The alarm for silent audio; nil without this alarm.
    package var silence: AlarmStatus?
    /// The alarm for black video; nil without this alarm.
    package var black: AlarmStatus?
    /// The alarm for frozen video; nil without this alarm.
    package var frozen: AlarmStatus?

    /// The status without monitors.
    package init() {}
}
