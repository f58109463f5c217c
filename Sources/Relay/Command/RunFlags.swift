// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import ArgumentParser
internal import Channel
package import Encoder
internal import Media

extension EncoderSettings.Preset: ExpressibleByArgument {}
extension EncoderSettings.Tune: ExpressibleByArgument {}
extension EncoderSettings.Profile: ExpressibleByArgument {}

/// All flags of `relay run`. A channel in a configuration file is converted to these flags, so that the same rules
/// apply to both.
struct RunFlags: ParsableArguments {
    @OptionGroup(title: "Input") var input: InputOptions
    @OptionGroup(title: "Outputs") var output: OutputOptions
    @OptionGroup(title: "Recording") var record: RecordOptions
    @OptionGroup(title: "Retention") var retention: RetentionOptions
    @OptionGroup(title: "Encoder") var encoder: EncoderOptions
    @OptionGroup(title: "Renditions") var renditions: RenditionOptions
    @OptionGroup(title: "Monitors") var monitor: MonitorOptions
    @OptionGroup(title: "Operation") var operation: OperationOptions

    /// The configuration made from the flags; throws a sentence that says what is wrong with them.
    func channelConfiguration() throws(TextFailure) -> ChannelConfiguration {
        try encoder.check()
        try monitor.check()
        var configuration = ChannelConfiguration()
        try input.apply(to: &configuration)
        try output.apply(to: &configuration)
        try input.applyCertificate(to: &configuration)
        try record.apply(to: &configuration, duration: operation.duration)
        try record.checkAlignment(isPaced: !input.unpaced)
        try retention.apply(to: &configuration)
        if let flag = input.copyFlag {
            try encoder.check(against: configuration.copying, by: flag)
            if let monitoring = monitor.givenForEncoded {
                throw TextFailure(
                    "\(option: monitoring) is for what is encoded, and \(option: flag) passes it on. Leave one of them out."
                )
            }
        }
        try renditions.check(against: configuration, by: input.copyFlag)
        encoder.apply(to: &configuration)
        try renditions.apply(to: &configuration)
        try renditions.checkNames(in: configuration, label: output.label(of:))
        configuration.monitor = monitor.settings(isCopied: configuration.copies)
        configuration.name = operation.channel
        try record.applySources(to: &configuration)
        configuration.duration = operation.duration
        guard !configuration.outputs.isEmpty || configuration.recording != nil else {
            throw TextFailure(
                "There is nothing to do: give at least one of \(option: "--rtmp"), \(option: "--srt"), \(option: "--output") and \(option: "--record")."
            )
        }
        if !configuration.outputs.isEmpty {
            if input.unpaced {
                throw TextFailure(
                    "\(option: "--unpaced") is for recordings alone: a live output needs the clock. Leave it out.")
            }
            if encoder.crf != nil {
                throw TextFailure(
                    "\(option: "--crf") is for recordings alone: a live output needs a bitrate. Use \(option: "--video-bitrate")."
                )
            }
        }
        guard SegmentName.safe(operation.channel) == operation.channel, !operation.channel.isEmpty else {
            throw TextFailure(
                "\(option: "--channel") is the beginning of file names: letters, digits and hyphens only.")
        }
        try record.checkNames(of: configuration)
        return configuration
    }
}
