// SPDX-License-Identifier: Apache-2.0

internal import CFFmpeg
package import Media

/// A chain of libavfilter's audio filters. Only one thread may use it at a time.
package final class AudioFilter {
    private let graph: FilterGraph
    private let subject: String
    private var position: Int64 = 0

    /// Creates a chain of `filters` for mono or stereo audio of `format`. `subject` is the input's name in error
    /// messages.
    package init(_ filters: String, format: AudioFormat, subject: String) throws(AVFailure) {
        _ = Library.prepared
        self.subject = subject
        graph = try FilterGraph(
            filters, from: "abuffer", to: "abuffersink", threads: 1,
            input: "sample_rate=\(format.sampleRate):sample_fmt=fltp:time_base=1/\(format.sampleRate)"
                + ":channel_layout=\(format.channels == 1 ? "mono" : "stereo")",
            operation: "filter", subject: subject)
    }

    /// Sends `audio` as the continuation of the earlier input; its position is ignored. Nil ends the input.
    package func push(_ audio: AudioBuffer?) throws(AVFailure) {
        guard let audio else { return try graph.push(nil) }
        guard audio.count > 0 else { return }
        let decoded = try DecodedFrame(subject: subject)
        let frame = decoded.frame
        frame.pointee.nb_samples = Int32(audio.count)
        frame.pointee.format = AV_SAMPLE_FMT_FLTP.rawValue
        frame.pointee.sample_rate = audio.format.sampleRate
        frame.pointee.pts = position
        relay_frame_set_channels(frame, Int32(audio.format.channels))
        try AVFailure.check(av_frame_get_buffer(frame, 0), "allocate audio for", subject)
        position += Int64(audio.count)
        for (index, channel) in audio.channels.enumerated() {
            guard let plane = frame.pointee.extended_data[index] else { continue }
            channel.withUnsafeBytes { samples in
                guard let base = samples.baseAddress else { return }
                UnsafeMutableRawPointer(plane).copyMemory(from: base, byteCount: samples.count)
            }
        }
        try graph.push(decoded, keeps: false)
    }

    /// Returns the next filtered frame; nil if no frame is ready.
    package func pull() throws(AVFailure) -> DecodedFrame? { try graph.pull() }
}

extension DecodedFrame {
    /// The number that a filter has attached to the frame's metadata under `key`; nil if it has attached none.
    package func number(_ key: String) -> Double? { frame.pointee.metadata.text(key).flatMap(Double.init) }

    /// Appends the frame's samples to `channels`. The frame must be planar floating-point audio with as many channels.
    package func appendSamples(to channels: inout [[Float]]) {
        guard frame.pointee.format == AV_SAMPLE_FMT_FLTP.rawValue else { return }
        for index in channels.indices where index < Int(relay_frame_channels(frame)) {
            guard let plane = frame.pointee.extended_data[index] else { continue }
            plane.withMemoryRebound(to: Float.self, capacity: sampleCount) { samples in
                channels[index].append(contentsOf: UnsafeBufferPointer(start: samples, count: sampleCount))
            }
        }
    }
}
