// SPDX-License-Identifier: Apache-2.0

internal import CFFmpeg
internal import Media

extension Demuxer {
    /// Opens `url`, or the bytes of `reader`, without probing it.
    static func open(
        _ url: String, _ reader: ByteReader?, _ resources: ResourceOpener?, _ options: Options,
        _ interrupter: Interrupter, _ subject: String
    ) throws(AVFailure) -> UnsafeMutablePointer<AVFormatContext> {
        var format: UnsafePointer<AVInputFormat>?
        if let name = options.format {
            format = relay_find_input_format(name)
            if format == nil, Library.hasDevices { format = relay_find_input_format(name) }
            guard format != nil else {
                throw AVFailure(operation: "find the device \(name) for", subject: subject, code: relay_averror(ENODEV))
            }
        }
        var context = avformat_alloc_context()
        guard let allocated = context else {
            throw AVFailure(operation: "open", subject: subject, code: relay_averror(ENOMEM))
        }
        // The demuxer retains the interrupter for as long as the context lives.
        allocated.pointee.interrupt_callback = interrupter.callback
        if let reader { allocated.pointee.pb = reader.context }
        resources?.install(in: allocated)
        if options.isPolled { allocated.pointee.flags |= AVFMT_FLAG_NONBLOCK }
        var dictionary: OpaquePointer?
        defer { av_dict_free(&dictionary) }
        for (key, value) in options.values { av_dict_set(&dictionary, key, value, 0) }
        // If opening fails, libav frees the context itself.
        try check(relay_open_input(&context, url, format, &dictionary), "open", subject, interrupter)
        return try AVFailure.unwrap(context, "open", subject)
    }

    /// Reads as much of the input as is needed to know its streams. Returns libav's status code.
    static func probe(_ context: UnsafeMutablePointer<AVFormatContext>, mostPixels: Int64?) -> Int32 {
        guard let mostPixels else { return avformat_find_stream_info(context, nil) }
        // libav expects an array with one dictionary for each stream that is known before probing.
        var options = [OpaquePointer?](repeating: nil, count: Int(context.pointee.nb_streams))
        for index in options.indices { av_dict_set(&options[index], "max_pixels", "\(mostPixels)", 0) }
        defer { for index in options.indices { av_dict_free(&options[index]) } }
        return options.isEmpty
            ? avformat_find_stream_info(context, nil) : avformat_find_stream_info(context, &options)
    }

    /// Describes the video and audio streams of `context`, except attached pictures. Their packets have times in
    /// `timeBase`; nil means the time bases of the container.
    static func describe(
        _ context: UnsafeMutablePointer<AVFormatContext>, _ timeBase: TimeBase?, _ subject: String
    ) throws(AVFailure) -> [StreamInfo] {
        var found: [StreamInfo] = []
        for index in 0..<Int(context.pointee.nb_streams) {
            guard let stream = context.pointee.streams?[index],
                stream.pointee.disposition & AV_DISPOSITION_ATTACHED_PIC == 0
            else { continue }
            if let info = try StreamInfo(stream, timeBase: timeBase, subject: subject) { found.append(info) }
        }
        return found
    }

    /// Throws if `code` is an error code. The error says whether a deadline has passed or the call was interrupted.
    static func check(
        _ code: Int32, _ operation: String, _ subject: String, _ interrupter: Interrupter
    ) throws(AVFailure) {
        guard code < 0 else { return }
        if interrupter.isInterrupted {
            throw AVFailure(operation: operation, subject: subject, code: relay_averror_exit)
        }
        // After a missed deadline, libav stores the error of that call, and the next call returns the stored error.
        let timedOut = interrupter.hasTimedOut || code == relay_averror_exit
        throw AVFailure(operation: operation, subject: subject, code: timedOut ? relay_averror(ETIMEDOUT) : code)
    }
}
