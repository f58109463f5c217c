// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import ArgumentParser
internal import Channel
internal import Media
internal import Segmenter

/// The flags for retention: the rules by which old recordings are deleted.
struct RetentionOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Delete recordings that ended longer ago than this, such as 72h or 30d. (default: keep all)",
            discussion: "Only finished files of this channel are ever deleted, the oldest first.", valueName: "time"),
        transform: ArgumentParsing.duration)
    var keep: Duration?

    @Option(
        help: ArgumentHelp(
            "Delete the oldest recordings when all of the channel's take more than this, such as 500GB.",
            valueName: "size"),
        transform: ByteSize.init(parsing:))
    var keepSize: ByteSize?

    @Option(
        help: ArgumentHelp(
            "Delete the oldest recordings when less of the disk is free than this part or size, such as 10% or 50GB.",
            discussion: "They also go before --disk-reserve would stop the recording.", valueName: "part"),
        transform: FreeSpaceGoal.init(parsing:))
    var keepFree: FreeSpaceGoal?

    @Option(
        help: ArgumentHelp(
            "Never delete a recording that ended more recently than this; 0s for none. (default: 1h)",
            valueName: "time"),
        transform: ArgumentParsing.anyDuration)
    var keepMin: Duration?

    func apply(to configuration: inout ChannelConfiguration) throws(TextFailure) {
        guard keep != nil || keepSize != nil || keepFree != nil else {
            guard keepMin == nil else {
                throw TextFailure(
                    "\(option: "--keep-min") limits \(option: "--keep"), \(option: "--keep-size") and "
                        + "\(option: "--keep-free"): give one of them too."
                )
            }
            return
        }
        guard let recording = configuration.recording else {
            throw TextFailure(
                "\(option: "--keep"), \(option: "--keep-size") and \(option: "--keep-free") are for recordings: give "
                    + "\(option: "--record") too."
            )
        }
        guard recording.template.hasChannel else {
            throw TextFailure(
                "\(option: "--keep"), \(option: "--keep-size") and \(option: "--keep-free") tell a channel's files by "
                    + "their names: put {channel} into "
                    + "\(option: "--record-name").")
        }
        configuration.recording?.retention = RetentionRules(
            maximumAge: keep, maximumBytes: keepSize?.bytes, minimumFree: keepFree,
            minimumAge: keepMin ?? .seconds(3600))
    }
}
