// SPDX-License-Identifier: Apache-2.0

internal import CFFmpeg
package import Media

/// Converts decoded audio of any rate, layout and sample type to the program's format; owns a `SwrContext`.
///
/// Output buffers follow each other without a gap, from the position given to ``start(at:)``. A sample's position is
/// its time. The filter delays some samples: they are output in a later buffer, but at their own positions. Mono is
/// copied to both channels at full level. More channels are mixed down by ITU-R BS.775 without attenuation, unless some
/// channels are selected. A compensating resampler can stretch or shrink the audio a little, and uses the filter even
/// if the input already has the target's rate. Only one thread may use it at a time.
package final class Resampler {
    /// The properties of the input. When one of them changes, a new `SwrContext` is necessary.
    private struct Shape: Hashable {
        var rate: Int32
        var format: Int32
        var channels: Int32
        var layout: UInt64
    }

    private let target: AudioFormat
    private let subject: String
    private let compensates: Bool
    private let channels: [Int]?
    private var stretch = 0.0
    private var shape: Shape?
    private var context: OpaquePointer?
    /// The number of samples that the current context has received, at the input's rate, and the number that it has
    /// output.
    private var taken: Int64 = 0
    private var given: Int64 = 0

    /// The position of the next output sample, in samples of the target.
    package private(set) var position: Int64 = 0

    /// Creates a resampler into the format `target`. ``compensate(by:)`` works only if `compensates` is set. `channels`
    /// selects input channels, counted from 0. They become the target's channels without mixing; a channel that the
    /// input lacks is silent. If `channels` is nil, all input channels are mixed.
    package init(target: AudioFormat, subject: String, compensates: Bool = false, channels: [Int]? = nil) {
        precondition(channels.map { $0.count == target.channels } ?? true, "one channel for each of the target")
        self.channels = channels
        self.target = target
        self.compensates = compensates
        self.subject = subject
    }

    deinit { swr_free(&context) }

    /// Number of samples, at the target's rate, that were received but are not output yet. The first sample of the next
    /// input frame is output at ``position`` plus this number.
    package var pending: Int64 {
        guard compensates else { return due - given }
        return context == nil ? 0 : swr_get_delay(context, Int64(target.sampleRate))
    }

    /// The total number of output samples that are due for all input so far.
    private var due: Int64 {
        guard let shape else { return 0 }
        return TimeBase(1, shape.rate).rescale(taken, to: target.timeBase)
    }

    /// Sets the position of the first sample of the next input frame. Samples that the filter still delays are lost, so
    /// call ``flush()`` first.
    package func start(at position: Int64) {
        close()
        self.position = position
    }

    /// Stretches the following audio: a `stretch` of 0.0001 yields 100 ppm more samples. The value is limited to ±0.01.
    /// Only a compensating resampler can do this.
    package func compensate(by stretch: Double) { self.stretch = min(0.01, max(-0.01, stretch)) }

    /// Converts one decoded audio frame. When the input's rate, sample type or layout changes, the samples that the old
    /// filter still delays are output first.
    package func convert(_ frame: DecodedFrame) throws(AVFailure) -> AudioBuffer {
        let values = frame.frame.pointee
        let current = Shape(
            rate: values.sample_rate, format: values.format, channels: relay_frame_channels(frame.frame),
            layout: relay_frame_channel_mask(frame.frame))
        var head: AudioBuffer?
        if let shape, shape != current { head = try flush() }
        if context == nil { try open(current) }
        if compensates {
            // The compensation covers the next 10 s of samples, and each call sets it again.
            let distance = 10 * target.sampleRate
            let delta = Int32((stretch * Double(distance)).rounded())
            try AVFailure.check(swr_set_compensation(context, delta, distance), "stretch audio of", subject)
        }
        taken += Int64(values.nb_samples)
        let tail = try run(
            values.extended_data.map { UnsafeMutableRawPointer($0) }, samples: values.nb_samples)
        guard var head else { return tail }
        head.append(tail)
        return head
    }

    /// Returns the samples that the filter still delays. The whole output is then as long as the input.
    package func flush() throws(AVFailure) -> AudioBuffer {
        let missing = Int(max(0, pending))
        var rest = AudioBuffer.silence(at: position, count: 0, format: target)
        if context != nil, missing > 0 {
            rest = try run(nil, samples: 0, limit: missing)
        }
        close()
        return rest
    }

    private func close() {
        swr_free(&context)
        shape = nil
        taken = 0
        given = 0
    }
}

extension Resampler {
    private func open(_ new: Shape) throws(AVFailure) {
        let code = relay_swr_alloc(
            &context, Int32(target.channels), target.sampleRate, new.layout, new.channels, new.format, new.rate)
        try AVFailure.check(code, "set up audio of", subject)
        if let channels {
            let matrix = channels.flatMap { wanted in (0..<Int(new.channels)).map { $0 == wanted ? 1.0 : 0 } }
            try AVFailure.check(swr_set_matrix(context, matrix, new.channels), "set up audio of", subject)
        } else if new.channels == 1, target.channels == 2 {
            try AVFailure.check(swr_set_matrix(context, [1, 1], 1), "set up audio of", subject)
        }
        if compensates {
            // Makes libswresample interpolate between the filter's phases: without interpolation, a 10 kHz tone would
            // have noise at -64 dB.
            for (name, value) in [("flags", Int64(SWR_FLAG_RESAMPLE)), ("linear_interp", 1)] {
                try AVFailure.check(
                    av_opt_set_int(UnsafeMutableRawPointer(context), name, value, 0), "set up audio of", subject)
            }
        }
        try AVFailure.check(swr_init(context), "set up audio of", subject)
        shape = new
    }

    private func run(
        _ input: UnsafeMutableRawPointer?, samples: Int32, limit: Int = .max
    ) throws(AVFailure) -> AudioBuffer {
        let room = min(limit, Int(max(0, swr_get_out_samples(context, samples))))
        var planes: [UnsafeMutablePointer<Float>] = []
        for _ in 0..<target.channels { planes.append(.allocate(capacity: max(1, room))) }
        defer { for plane in planes { plane.deallocate() } }
        var outputs: [UnsafeMutablePointer<UInt8>?] = planes.map {
            UnsafeMutableRawPointer($0).assumingMemoryBound(to: UInt8.self)
        }
        let inputs = input?.assumingMemoryBound(to: UnsafePointer<UInt8>?.self)
        let code = swr_convert(context, &outputs, Int32(room), inputs, samples)
        let count = Int(try AVFailure.check(code, "resample audio of", subject))
        let buffer = AudioBuffer(
            position: position, format: target,
            channels: planes.map { [Float](UnsafeBufferPointer(start: $0, count: count)) })
        position += Int64(count)
        given += Int64(count)
        return buffer
    }
}
