// SPDX-License-Identifier: Apache-2.0

import Glibc
import Media

@testable import Ingest
@testable import LibAV
@testable import RTMP
@testable import SourceClock

/// The function that libFuzzer calls with each input. `scripts/fuzz --of ingest` compiles it with the code that turns a
/// sender's bytes into packets on air. The first byte selects what is tested with the rest. No input may cause a crash,
/// a hang or unbounded memory use.
@_cdecl("LLVMFuzzerTestOneInput")
package func fuzzIngest(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    guard count > 2 else { return 0 }
    let input = Array(UnsafeBufferPointer(start: start, count: count))
    let bytes = Array(input.dropFirst(2))
    switch FuzzCase.given ?? Int(input[0] % 8) {
    case 0: publish(bytes)
    case 1: demux(bytes, as: ["mpegts", "flv", "mov", "matroska"][Int(input[1] % 4)])
    case 2: readBitstreams(bytes)
    case 3: time(bytes)
    case 4: readPlaylist(String(decoding: bytes, as: UTF8.self))
    case 5: readTables(bytes)
    case 6: readSections(bytes)
    default: readRequest(String(decoding: bytes, as: UTF8.self))
    }
    return 0
}

private enum FuzzCase {
    /// The only case to test, if the environment names one.
    static let given = getenv("RELAY_FUZZ_CASE").flatMap { Int(String(cString: $0)) }
    /// A directory in memory that the script makes.
    static let directory = getenv("RELAY_FUZZ_DIRECTORY").map { String(cString: $0) } ?? "/dev/shm"
}

/// A timeline that checks its packets: none may be shown before it is decoded.
private struct CheckedTimeline {
    private var timeline: PacketTimeline

    init(canWait: Bool, bits: Int?) {
        timeline = PacketTimeline(
            PacketSourceDescription(
                stream: StreamDescription(), canWait: canWait,
                clock: canWait ? SourceClockSettings(arrivals: .none, latency: .zero) : .rtmp, stampBits: bits))
    }

    mutating func take(_ packet: EncodedPacket, at arrival: MonotonicInstant) {
        for packet in timeline.take(packet, at: arrival) {
            guard packet.pts >= packet.dts else { abort() }
        }
    }
}

/// Reads published messages in the form of FLV tags: type, length, time, stream, body, length (Adobe FLV 10.1, E.4.1).
private func publish(_ bytes: [UInt8]) {
    var (reader, timeline) = (RTMPPacketReader(), CheckedTimeline(canWait: false, bits: 32))
    // The first tag follows the file's header, if there is one.
    var place = bytes.starts(with: [0x46, 0x4C, 0x56]) ? 13 : 0
    var arrival = MonotonicInstant.zero
    while place + 11 <= bytes.count {
        let header = bytes[place..<place + 11].map { UInt32($0) }
        let end = min(bytes.count, place + 11 + Int(header[1] << 16 | header[2] << 8 | header[3]))
        let time = header[7] << 24 | header[4] << 16 | header[5] << 8 | header[6]
        let body = bytes[(place + 11)..<end]
        arrival += .milliseconds(1)
        if let content = content(UInt8(header[0]), body),
            let packet = reader.read(RTMPPublishedMessage(timestamp: time, content: content))
        {
            timeline.take(packet, at: arrival)
        }
        place = end + 4
    }
    guard reader.complaints.count <= 8 else { abort() }
}

private func content(_ type: UInt8, _ body: ArraySlice<UInt8>) -> RTMPPublishedMessage.Content? {
    switch type & 0x1F {
    case 8: (try? FLVAudio(body: body)).flatMap { $0 }.map { .audio($0) }
    case 9: (try? FLVVideo(body: body)).flatMap { $0 }.map { .video($0) }
    case 18:
        AMF0Reader.values(body).last.flatMap { value in
            if case .object(let properties) = value { .metadata(properties) } else { nil }
        }
    default: nil
    }
}

private func demux(_ bytes: [UInt8], as format: String) {
    let path = "\(FuzzCase.directory)/fuzz.media"
    let descriptor = open(path, O_RDWR | O_CREAT | O_TRUNC, 0o600)
    guard descriptor >= 0, write(descriptor, bytes, bytes.count) == bytes.count else { abort() }
    close(descriptor)
    guard
        let demuxer = try? Demuxer(
            url: "file:" + path, options: .init(format: format, openTimeout: .seconds(5), readTimeout: .seconds(5)),
            interrupter: Interrupter(), subject: "fuzz")
    else { return }
    let readers = [demuxer.bestVideo, demuxer.bestAudio].compactMap(\.self).compactMap {
        TrackReader($0, subject: "fuzz")
    }
    var timeline = CheckedTimeline(canWait: true, bits: readers.first?.stream.stampBits)
    var damage = 0
    while damage < 100 {
        do {
            guard let box = try demuxer.readPacket() else { return }
            let packet = try? readers.first { $0.stream.index == box.streamIndex }?.read(box)
            if let packet { timeline.take(packet, at: .zero) }
        } catch {
            damage += 1
        }
    }
}

private func readBitstreams(_ bytes: [UInt8]) {
    for codec in [Codec.h264, .hevc] {
        var reader = AnnexBReader(codec)
        // The bytes are read in two pieces, so that parameter sets of the first piece apply to frames of the second
        // one.
        for piece in [bytes.prefix(bytes.count / 2), bytes.dropFirst(bytes.count / 2)] {
            if let unit = reader.read(Array(piece)) { _ = AccessUnit.isDisposable(unit.payload) }
            _ = (reader.sets.configuration, reader.sets.size)
        }
    }
    _ = ADTSFrame.frames(bytes)
    _ = AACHeader(configuration: bytes)
    _ = AC3Header.specificBox(bytes)
    _ = AccessUnit.isDisposable(SharedBytes(bytes))
}

/// Reads packets from records of 19 bytes: the track and whether it is a keyframe, the decoding time, the presentation
/// time minus the decoding time, and the arrival.
private func time(_ bytes: [UInt8]) {
    var timelines = [
        CheckedTimeline(canWait: true, bits: nil), CheckedTimeline(canWait: false, bits: 32),
        CheckedTimeline(canWait: false, bits: 33),
    ]
    var arrival = MonotonicInstant.zero
    for start in stride(from: 0, to: bytes.count - 18, by: 19) {
        func number(_ from: Int, _ count: Int) -> Int64 {
            bytes[(start + from)..<(start + from + count)].reduce(0) { $0 << 8 | Int64($1) }
        }
        arrival += .nanoseconds(number(1, 4))
        let dts = number(5, 8)
        let duration = number(13, 2)
        let track = bytes[start] & 1 == 0 ? Tracks.video : Tracks.audio
        for index in timelines.indices {
            timelines[index].take(
                EncodedPacket(
                    of: track, pts: dts &+ number(15, 4), dts: dts, duration: duration,
                    isKeyframe: bytes[start] & 2 == 0, payload: SharedBytes([1])), at: arrival)
        }
    }
}

private enum Tracks {
    static let video = TrackDescription(
        video: .h264, frames: FrameFormat(width: 320, height: 180, sampleAspectRatio: .square, color: .bt709),
        timeBase: TimeBase(1, 90_000), decoderConfiguration: SharedBytes([1]))
    static let audio = TrackDescription(
        audio: .aac, format: .program, timeBase: TimeBase(1, 90_000), decoderConfiguration: SharedBytes([0x11, 0x90]))
}
