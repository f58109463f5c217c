// SPDX-License-Identifier: Apache-2.0

internal import LibAV
internal import Media

/// Decodes a whole file and counts the errors.
struct DeepCheck {
    private(set) var frames = 0
    private(set) var errors = 0
    private var subject: String

    /// Decodes the file at `path`, which takes a long time. `subject` stands for the file in error messages.
    init(_ path: String, subject: String) throws(AVFailure) {
        self.subject = subject
        let demuxer = try Demuxer(
            url: "file:\(path)", options: .init(format: path.hasSuffix(".ts") ? "mpegts" : "mp4"),
            interrupter: Interrupter(), subject: subject)
        var decoders: [Int: Decoder] = [:]
        for stream in [demuxer.bestVideo, demuxer.bestAudio].compactMap(\.self) {
            decoders[stream.index] = try Decoder(stream, threading: .slices, subject: subject)
        }
        let videoIndex = demuxer.bestVideo?.index
        while let packet = try demuxer.readPacket() {
            guard let decoder = decoders[packet.streamIndex] else { continue }
            if packet.isCorrupt { errors += 1 }
            decode(packet, decoder, isVideo: packet.streamIndex == videoIndex)
        }
        for (index, decoder) in decoders { decode(nil, decoder, isVideo: index == videoIndex) }
    }

    private mutating func decode(_ packet: PacketBox?, _ decoder: Decoder, isVideo: Bool) {
        do throws(AVFailure) {
            try decoder.send(packet)
        } catch {
            errors += 1
            return
        }
        // A decoder that fails while it is drained can fail endlessly, so the loop ends after some failures.
        var failures = 0
        while failures < 64 {
            do throws(AVFailure) {
                guard case .frame(let frame) = try decoder.receive() else { return }
                if frame.isDamaged { errors += 1 }
                if isVideo { frames += 1 }
            } catch {
                errors += 1
                failures += 1
            }
        }
    }

    /// Returns the problems; `expected` is the number of frames in the file's tables.
    func problems(expected: Int) -> [String] {
        var problems: [String] = []
        if errors > 0 { problems.append("decoding it meets \(errors) errors") }
        if frames != expected { problems.append("decoding it yields \(frames) frames instead of \(expected)") }
        return problems
    }
}
