// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Media
internal import Monitor

/// The flags for the alarms of the program (silence, black, frozen video) and for its loudness.
struct MonitorOptions: ParsableArguments {
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Bring audio to this loudness, such as -23 (EBU R128), and keep its true peaks below -1 dBTP.",
            valueName: "LUFS"))
    var loudness: Double?

    @Flag(help: "Measure the loudness of what goes on air (EBU R128), and show it with the status.")
    var meter = false

    @Option(
        help: ArgumentHelp("Warn of silence that lasts so long; off for never. (default: 10s)", valueName: "time"),
        transform: ArgumentParsing.alarm)
    var silenceAlarm: Duration?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Silent is what stays below this level. (default: -60)", valueName: "dBFS"))
    var silenceLevel: Double?

    @Option(
        help: ArgumentHelp("Warn of black video that lasts so long; off for never. (default: 10s)", valueName: "time"),
        transform: ArgumentParsing.alarm)
    var blackAlarm: Duration?

    @Option(
        help: ArgumentHelp(
            "Black is what stays below this much of full brightness, with 98 % of its pixels. (default: 10)",
            valueName: "percent"))
    var blackLevel: Double?

    @Option(
        help: ArgumentHelp(
            "Warn of video that is frozen for so long; off for never. (default: 30s)", valueName: "time"),
        transform: ArgumentParsing.alarm)
    var frozenAlarm: Duration?

    @Option(
        help: ArgumentHelp(
            "Video is frozen while no more of its pixels change than this. (default: 0.05)", valueName: "percent"))
    var frozenLevel: Double?

    /// Throws if a value is out of range.
    func check() throws(TextFailure) {
        let bounds: [(String, Double?, ClosedRange<Double>)] = [
            ("--loudness", loudness, -50 ... -5), ("--silence-level", silenceLevel, -100 ... -20),
            ("--black-level", blackLevel, 1...50), ("--frozen-level", frozenLevel, 0...20),
        ]
        for (flag, value, range) in bounds {
            guard let value, !range.contains(value) else { continue }
            throw TextFailure("\(option: flag) must be from \(Int(range.lowerBound)) to \(Int(range.upperBound)).")
        }
    }

    /// The name of the first given flag that does not work for a program that is passed through, because the flag needs
    /// decoded video or an encoder; nil if no such flag is given.
    var givenForEncoded: String? {
        let flags: [(String, Bool)] = [
            ("--loudness", loudness != nil), ("--black-alarm", blackAlarm != nil),
            ("--black-level", blackLevel != nil), ("--frozen-alarm", frozenAlarm != nil),
            ("--frozen-level", frozenLevel != nil),
        ]
        return flags.first(where: \.1)?.0
    }

    /// Returns the settings. If the program is passed through (`isCopied`), no alarm is on by default, and its audio is
    /// decoded only if a flag needs it.
    func settings(isCopied: Bool) -> MonitorSettings {
        var settings = MonitorSettings()
        if isCopied { (settings.silence, settings.black, settings.frozen) = (nil, nil, nil) }
        let length = { (given: Duration?, usual: Duration?) in given.map { $0 > .zero ? $0 : nil } ?? usual }
        settings.silence = length(silenceAlarm, settings.silence)
        settings.black = length(blackAlarm, settings.black)
        settings.frozen = length(frozenAlarm, settings.frozen)
        settings.silenceLevel = silenceLevel ?? settings.silenceLevel
        settings.blackLevel = blackLevel ?? settings.blackLevel
        settings.frozenLevel = frozenLevel ?? settings.frozenLevel
        if isCopied, silenceLevel != nil, silenceAlarm == nil { settings.silence = .seconds(10) }
        settings.measuresLoudness = meter
        settings.loudness = loudness
        return settings
    }
}
