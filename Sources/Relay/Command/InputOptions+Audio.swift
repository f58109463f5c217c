// SPDX-License-Identifier: Apache-2.0

internal import Channel
internal import Ingest
internal import Media
internal import RTMP
internal import SRT

/// Checks the value of `--audio-input`. A value that can never work is refused before any input is opened, because
/// opening an input may take a long time.
extension InputOptions {
    /// Reads `text`, the value of `--audio-input`.
    func audioLocation(_ text: String) throws(TextFailure) -> InputLocation {
        let location = try Self.location(text, flag: "--audio-input")
        if location.hasNoAudio {
            throw TextFailure(
                "\(option: "--audio-input") is not usable: \(location) gives no audio. Name an input with audio.")
        }
        if unpaced, location.isLiveByNature == true {
            throw TextFailure(
                "\(option: "--unpaced") is for files: \(location) comes at its own pace. Leave it out.",
                about: OptionReference("--audio-input"))
        }
        return location
    }

    /// Throws if the audio input and another input listen for the same stream, because the other input would then
    /// receive the whole stream.
    func checkAudioListener(_ configuration: ChannelConfiguration) throws(TextFailure) {
        guard let audio = configuration.audioInput,
            configuration.sources.flatMap(\.inputs).contains(where: { Self.listenForOneStream($0, audio) })
        else { return }
        throw TextFailure(
            "\(option: "--audio-input") is not usable: another \(option: "--input") listens for the same stream. Give "
                + "each its own name.")
    }

    /// Whether both inputs listen for the same stream at the same port. Addresses that cannot be parsed were refused
    /// earlier.
    private static func listenForOneStream(_ one: InputLocation, _ other: InputLocation) -> Bool {
        if let one = try? listenURL(of: one), let other = try? listenURL(of: other) {
            return one.port == other.port && one.hasSameStream(as: other)
        }
        guard let one = srtListener(one), let other = srtListener(other) else { return false }
        return one.port == other.port && one.hasSameStream(as: other)
    }

    private static func srtListener(_ location: InputLocation) -> SRTURL? {
        guard let url = location.srtAddress.flatMap({ try? SRTURL($0, for: .input) }), url.mode == .listener else {
            return nil
        }
        return url
    }
}
