// SPDX-License-Identifier: Apache-2.0

internal import Media

/// `stsd` boxes (ISO/IEC 14496-12, 8.5.2).
enum SampleDescription {
    /// An `avc1` entry with `avcC` (ISO/IEC 14496-15, 5.4.2), color, pixel aspect and bitrate.
    static func video(_ video: TrackDescription, _ format: FrameFormat) -> [UInt8] {
        var writer = BoxWriter()
        writer.fullBox("stsd") { stsd in
            stsd.u32(1)
            stsd.box("avc1") { entry in
                entry.zeros(6)
                entry.u16(1)
                entry.zeros(16)
                entry.u16(UInt16(clamping: format.width))
                entry.u16(UInt16(clamping: format.height))
                entry.u32(0x48_0000)  // 72 dpi, the template's value
                entry.u32(0x48_0000)
                entry.u32(0)
                entry.u16(1)
                entry.zeros(32)
                entry.u16(24)
                entry.u16(0xFFFF)
                entry.box("avcC") { $0.raw(video.decoderConfiguration.array) }
                color(format.color, &entry)
                entry.box("pasp") { pasp in
                    pasp.u32(UInt32(clamping: format.sampleAspectRatio.horizontal))
                    pasp.u32(UInt32(clamping: format.sampleAspectRatio.vertical))
                }
                bitrate(video.bitrate, &entry)
            }
        }
        return writer.bytes
    }

    /// Bytes of the length in front of each NAL unit, as the `avcC` in the complete `stsd` box says
    /// (ISO/IEC 14496-15, 5.3.3.1.2).
    static func lengthSize(_ stsd: [UInt8]) throws(MP4Failure) -> Int {
        var whole = BoxReader(stsd[...])
        var body = try whole.box().body
        _ = try body.take(8)
        var entry = try body.box().body
        // The fields of a VisualSampleEntry (ISO/IEC 14496-12, 12.1.3).
        _ = try entry.take(78)
        var configuration = try entry.first("avcC")
        return Int(try configuration.take(5).last ?? 0) & 3 + 1
    }

    /// `colr` of type `nclx` (8.5.2, 12.1.5).
    private static func color(_ color: ColorDescription, _ entry: inout BoxWriter) {
        entry.box("colr") { colr in
            colr.code("nclx")
            colr.u16(UInt16(color.primaries))
            colr.u16(UInt16(color.transfer))
            colr.u16(UInt16(color.matrix))
            colr.u8(color.isFullRange ? 0x80 : 0)
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

    /// An `mp4a` entry with `esds` (ISO/IEC 14496-14, 5.6; descriptors: ISO/IEC 14496-1, 7.2.6).
    static func audio(_ audio: TrackDescription, _ format: AudioFormat) -> [UInt8] {
        var writer = BoxWriter()
        writer.fullBox("stsd") { stsd in
            stsd.u32(1)
            stsd.box("mp4a") { entry in
                entry.zeros(6)
                entry.u16(1)
                entry.zeros(8)
                entry.u16(UInt16(clamping: format.channels))
                entry.u16(16)
                entry.u32(0)
                // 16.16 fixed point: rates over 65535 Hz cannot be said here; players take them from the esds.
                entry.u32(format.sampleRate < 65536 ? UInt32(format.sampleRate) << 16 : 0)
                entry.fullBox("esds") { elementaryStream(audio, &$0) }
            }
        }
        return writer.bytes
    }

    private static func elementaryStream(_ audio: TrackDescription, _ esds: inout BoxWriter) {
        let specific = audio.decoderConfiguration.array.prefix(64)
        let bitrate = UInt32(clamping: max(0, audio.bitrate))
        descriptor(0x03, length: 3 + 5 + 13 + 5 + specific.count + 5 + 1, &esds)
        esds.u16(UInt16(MovieLayout.audioID))
        esds.u8(0)
        descriptor(0x04, length: 13 + 5 + specific.count, &esds)
        esds.u8(0x40)  // Audio ISO/IEC 14496-3
        esds.u8(0x15)  // AudioStream, not upstream, the reserved bit set
        esds.zeros(3)
        esds.u32(bitrate)
        esds.u32(bitrate)
        descriptor(0x05, length: specific.count, &esds)
        esds.raw(specific)
        descriptor(0x06, length: 1, &esds)
        esds.u8(2)
    }

    /// A tag and its length in the four-byte form that all writers use.
    private static func descriptor(_ tag: UInt8, length: Int, _ writer: inout BoxWriter) {
        writer.u8(tag)
        writer.raw([0x80, 0x80, 0x80, UInt8(clamping: min(length, 127))])
    }
}
