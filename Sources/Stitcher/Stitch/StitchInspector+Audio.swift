// SPDX-License-Identifier: Apache-2.0

internal import LibAV
internal import MP4
internal import Media

extension StitchInspector {
    /// The audio track; nil if the file has no audio that can be heard.
    var audioTrack: StitchSource.Audio? {
        guard let audio, let heard, audio.sampleRate > 0 else { return nil }
        let format = AudioFormat(sampleRate: Int32(clamping: audio.sampleRate), channels: max(1, audio.channels))
        let obstacle = obstacle(audio, format)
        var packets = obstacle == nil ? audioPackets : []
        // Each packet gets a duration of 1024 samples. The tables do not contain durations, but every packet that can
        // be copied has this many samples.
        for index in packets.indices { packets[index].duration = AudioGrid.step }
        return StitchSource.Audio(
            stream: audio.index, codec: audio.codecName, format: format, timeBase: audio.timeBase, range: heard,
            configuration: audio.configuration, packets: packets, obstacle: obstacle)
    }

    /// The reason why the packets of `audio` cannot be copied; nil if they can be. Packets can be copied if they are
    /// AAC-LC, have 1024 samples each and no gaps between them, and use no extension such as spectral band replication.
    private func obstacle(_ audio: StreamInfo, _ format: AudioFormat) -> String? {
        guard isMovie else { return "its container is \(demuxer.formatName), not MP4 or MOV" }
        guard audio.codecName == "aac" else { return "it is \(audio.codecName)" }
        let configuration = audio.configuration
        // AudioSpecificConfig (ISO/IEC 14496-3, 1.6.2.1): object type 2, three zero bits after rate and channels, and
        // at most one extension, which says that there is no spectral band replication.
        guard configuration.count >= 2, configuration[0] >> 3 == 2, configuration[1] & 7 == 0,
            [[], [0x56, 0xE5, 0]].contains(Array(configuration[2...])),
            let header = AACHeader(configuration: configuration), header.sampleRate == format.sampleRate
        else { return "it is not plain AAC-LC" }
        guard header.channels == format.channels, (1...2).contains(format.channels) else {
            return "it has \(format.channels) channels"
        }
        let isWhole =
            audio.timeBase == format.timeBase && audioPackets.allSatisfy { $0.offset >= 0 }
            && zip(audioPackets, audioPackets.dropFirst()).allSatisfy { $1.pts - $0.pts == 1024 }
        return isWhole ? nil : "its packets do not follow each other"
    }

    /// Notes on the parts of the file and of its audio that are left out.
    var leftOut: [String] {
        var notes: [String] = []
        let tracks = demuxer.trackCounts
        if tracks.video > 1 { notes.append("of its \(tracks.video) tracks of video one is used") }
        if tracks.audio > 1 { notes.append("of its \(tracks.audio) tracks of audio one is used") }
        if tracks.subtitles > 0 { notes.append("its subtitles are left out") }
        if let audio, audio.channels > 2 { notes.append("its \(audio.channels) channels of audio are mixed into two") }
        return notes
    }
}
