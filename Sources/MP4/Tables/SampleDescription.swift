// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Encodes and reads `stsd` boxes, which describe the coding of a track (ISO/IEC 14496-12, 8.5.2).
enum SampleDescription {
    /// Encodes the `stsd` of a video track. Its entry is `avc1` or `hvc1` (ISO/IEC 14496-15, 5.4.2 and 8.4.1) or `av01`
    /// (AV1-ISOBMFF, 2.2). The entry has the decoder configuration, the color, the pixel aspect ratio and, if it is
    /// known and the form is not QuickTime, the bitrate.
    static func video(_ video: TrackDescription, _ format: FrameFormat, _ form: MovieForm) -> [UInt8] {
        let (name, configuration) =
            switch video.codec {
            case .hevc: ("hvc1", "hvcC")
            case .av1: ("av01", "av1C")
            default: ("avc1", "avcC")
            }
        var writer = BoxWriter()
        writer.fullBox("stsd") { stsd in
            stsd.u32(1)
            stsd.box(name) { entry in
                entry.zeros(6)
                entry.u16(1)
                entry.zeros(16)
                entry.u16(UInt16(clamping: format.width))
                entry.u16(UInt16(clamping: format.height))
                entry.u32(0x48_0000)  // 72 dpi, the standard's default
                entry.u32(0x48_0000)
                entry.u32(0)
                entry.u16(1)
                entry.zeros(32)
                entry.u16(24)
                entry.u16(0xFFFF)
                entry.box(configuration) { $0.raw(video.decoderConfiguration.array) }
                color(format.color, form, &entry)
                entry.box("pasp") { pasp in
                    pasp.u32(UInt32(clamping: format.sampleAspectRatio.horizontal))
                    pasp.u32(UInt32(clamping: format.sampleAspectRatio.vertical))
                }
                if form != .mov { bitrate(video.bitrate, &entry) }
            }
        }
        return writer.bytes
    }

    /// Reads the size in bytes of the length field before each NAL unit from the `avcC` in the complete `stsd` box
    /// (ISO/IEC 14496-15, 5.3.3.1.2).
    static func lengthSize(_ stsd: [UInt8]) throws(MP4Failure) -> Int {
        var whole = BoxReader(stsd[...])
        var body = try whole.box().body
        _ = try body.take(8)
        var entry = try body.box().body
        // Skips the fixed fields of a VisualSampleEntry (ISO/IEC 14496-12, 12.1.3).
        _ = try entry.take(78)
        var configuration = try entry.first("avcC")
        return Int(try configuration.take(5).last ?? 0) & 3 + 1
    }

    /// Writes a `colr` box. Its type is `nclx` (8.5.2, 12.1.5), or in QuickTime `nclc`, which has no flag for the
    /// range.
    private static func color(_ color: ColorDescription, _ form: MovieForm, _ entry: inout BoxWriter) {
        entry.box("colr") { colr in
            colr.code(form == .mov ? "nclc" : "nclx")
            colr.u16(UInt16(color.primaries))
            colr.u16(UInt16(color.transfer))
            colr.u16(UInt16(color.matrix))
            if form != .mov { colr.u8(color.isFullRange ? 0x80 : 0) }
        }
    }

    private static func bitrate(_ bitrate: Int, _ entry: inout BoxWriter) {
        guard bitrate > 0 else { return }
        entry.box("btrt") { btrt in
            btrt.u32(0)
            btrt.u32(UInt32(clamping: bitrate))
            btrt.u32(UInt32(clamping: bitrate))
        }
    }

    /// Encodes the `stsd` of an audio track. Its entry is `mp4a` with `esds` (ISO/IEC 14496-14, 5.6; descriptors:
    /// ISO/IEC 14496-1, 7.2.6), `Opus` with `dOps` (Opus in ISOBMFF, 4.3), or `ac-3` with `dac3` (ETSI TS 102 366,
    /// annex F).
    static func audio(_ audio: TrackDescription, _ format: AudioFormat, _ form: MovieForm) -> [UInt8] {
        var writer = BoxWriter()
        writer.fullBox("stsd") { stsd in
            stsd.u32(1)
            let name =
                switch audio.codec {
                case .opus: "Opus"
                case .ac3: "ac-3"
                default: "mp4a"
                }
            let isQuickTime = form == .mov && name == "mp4a"
            stsd.box(name) { entry in
                entry.zeros(6)
                entry.u16(1)
                entry.u16(isQuickTime ? 1 : 0)
                entry.zeros(6)
                entry.u16(UInt16(clamping: format.channels))
                entry.u16(16)
                // Writes QuickTime's compression ID. The value -2 means packets of variable size. MP4 has 0 in this
                // place.
                entry.u16(isQuickTime ? UInt16(bitPattern: -2) : 0)
                entry.u16(0)
                // The rate field is 16.16 fixed point and cannot hold rates above 65535 Hz, for which it is 0. Players
                // read such rates from the `esds`.
                entry.u32(format.sampleRate < 65536 ? UInt32(format.sampleRate) << 16 : 0)
                if isQuickTime { return quickTimeAudio(audio, format, &entry) }
                switch audio.codec {
                case .opus: entry.box("dOps") { $0.raw(opusSpecific(audio.decoderConfiguration.array)) }
                case .ac3: entry.box("dac3") { $0.raw(audio.decoderConfiguration.array) }
                default: entry.fullBox("esds") { elementaryStream(audio, &$0) }
                }
            }
        }
        return writer.bytes
    }

    /// Writes the additional fields of a QuickTime audio entry of version 1, and the `wave` atom that contains the
    /// `esds` (QuickTime File Format, “siDecompressionParam atom”).
    private static func quickTimeAudio(_ audio: TrackDescription, _ format: AudioFormat, _ entry: inout BoxWriter) {
        let samplesPerPacket: UInt32 = audio.codec == .mp3 ? 1152 : 1024
        for value in [samplesPerPacket, 0, 0, 2] { entry.u32(value) }
        entry.box("wave") { wave in
            wave.box("frma") { $0.code("mp4a") }
            wave.box("mp4a") { $0.zeros(4) }
            wave.fullBox("esds") { elementaryStream(audio, &$0) }
            wave.box("\0\0\0\0") { _ in }
        }
    }

    /// Reads the codec of an audio track from its complete `stsd` box, which relay has written; nil for another box.
    static func audioCodec(_ stsd: [UInt8]) -> Codec? {
        var whole = BoxReader(stsd[...])
        guard var body = try? whole.box().body, (try? body.take(8)) != nil, let name = try? body.box().type else {
            return nil
        }
        switch name {
        case "Opus": return .opus
        case "ac-3": return .ac3
        case "mp4a":
            // The object type follows the version of `esds`, the heads of two descriptors and the fields between them.
            let place = BoxReader.positions(of: Array("esds".utf8), in: stsd).first.map { $0 + 4 + 4 + 5 + 3 + 5 }
            guard let place, place < stsd.count else { return nil }
            return stsd[place] == mp3Type ? .mp3 : .aac
        default: return nil
        }
    }

    /// The object types of MP3 (ISO/IEC 11172-3) and AAC (14496-3) in the descriptor of a decoder configuration
    /// (ISO/IEC 14496-1, 7.2.6.6).
    private static let (mp3Type, aacType): (UInt8, UInt8) = (0x6B, 0x40)

    /// Converts an `OpusHead` (RFC 7845, 5.1) to the content of a `dOps` box. Both have the same fields, but `dOps` has
    /// no name, another version number, and big-endian numbers. Returns no bytes if `head` is not an `OpusHead`.
    static func opusSpecific(_ head: [UInt8]) -> [UInt8] {
        guard head.count >= 19, head.starts(with: "OpusHead".utf8) else { return [] }
        return [0, head[9], head[11], head[10]] + head[12..<16].reversed() + [head[17], head[16]] + head[18...]
    }

    private static func elementaryStream(_ audio: TrackDescription, _ esds: inout BoxWriter) {
        let isMP3 = audio.codec == .mp3
        let specific = isMP3 ? [] : audio.decoderConfiguration.array.prefix(64)
        // MP3 needs no decoder configuration, so the descriptor of the decoder configuration is omitted.
        let specificBytes = isMP3 ? 0 : 5 + specific.count
        let bitrate = UInt32(clamping: max(0, audio.bitrate))
        descriptor(0x03, length: 3 + 5 + 13 + specificBytes + 5 + 1, &esds)
        esds.u16(UInt16(MovieLayout.audioID))
        esds.u8(0)
        descriptor(0x04, length: 13 + specificBytes, &esds)
        esds.u8(isMP3 ? mp3Type : aacType)
        esds.u8(0x15)  // streamType audio, upStream 0, reserved bit 1
        esds.zeros(3)
        esds.u32(bitrate)
        esds.u32(bitrate)
        if !isMP3 {
            descriptor(0x05, length: specific.count, &esds)
            esds.raw(specific)
        }
        descriptor(0x06, length: 1, &esds)
        esds.u8(2)
    }

    /// Writes the tag of a descriptor and its length. The length is written in four bytes, as libavformat does.
    private static func descriptor(_ tag: UInt8, length: Int, _ writer: inout BoxWriter) {
        writer.u8(tag)
        writer.raw([0x80, 0x80, 0x80, UInt8(clamping: min(length, 127))])
    }
}
