// SPDX-License-Identifier: Apache-2.0

/// What is monitored in a program, and when an alarm is raised.
package struct MonitorSettings: Sendable, Hashable {
    /// How long audio must be silent before an alarm is raised; nil for no alarm.
    package var silence: Duration? = .seconds(10)
    /// Audio counts as silent if no sample reaches this level, in dBFS; -100 to -20.
    package var silenceLevel = -60.0
    /// How long video must be black before an alarm is raised; nil for no alarm.
    package var black: Duration? = .seconds(10)
    /// A pixel counts as dark up to this brightness, in percent of full brightness; 1 to 50.
    package var blackLevel = 10.0
    /// How long video must be frozen before an alarm is raised; nil for no alarm.
    package var frozen: Duration? = .seconds(30)
    /// Video counts as frozen if at most this percentage of its pixels changes; 0 to 20.
    package var frozenLevel = 0.05
    /// Whether loudness is measured. With a target loudness, it is always measured.
    package var measuresLoudness = false
    /// The target loudness in LUFS, to which the audio is adjusted; nil leaves the audio unchanged.
    package var loudness: Double?

    /// Creates the default settings: all alarms, but no measurement of loudness.
    package init() {}
}

/// The status of all monitors of a program as operators see it.
package struct MonitorStatus: Sendable, Codable, Hashable {
    /// The loudness of the audio on air; nil if loudness is not measured.
    package var loudness: LoudnessStatus?
    /// The gain that is applied now to reach the target loudness, in dB; nil without a target loudness.
    package var gain: Double?
    /// The alarm for silent audio; nil if there is no such alarm.
    package var silence: AlarmStatus?
    /// The alarm for black video; nil if there is no such alarm.
    package var black: AlarmStatus?
    /// The alarm for frozen video; nil if there is no such alarm.
    package var frozen: AlarmStatus?

    /// Creates the status of a program that is not monitored.
    package init() {}
}
