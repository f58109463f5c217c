// SPDX-License-Identifier: Apache-2.0

internal import CFFmpeg

/// Reads raw bytes from an address that libavformat opens; owns the `AVIOContext`. One thread at a time.
package final class AddressBytes: ByteStream {
    // Used by the reading thread only, and closed in `deinit`, after the last read.
    nonisolated(unsafe) private let context: UnsafeMutablePointer<AVIOContext>
    /// The context calls the interrupter, which must therefore live as long as the context.
    private let interrupter: Interrupter

    /// Opens `url` with these options. Blocks; `interrupter` ends the opening and every later read. Errors call the
    /// input `subject`.
    package init(url: String, options: Demuxer.Options, interrupter: Interrupter, subject: String) throws(AVFailure) {
        _ = Library.prepared
        self.interrupter = interrupter
        interrupter.allow(options.openTimeout)
        var values: OpaquePointer?
        defer { av_dict_free(&values) }
        for (key, value) in options.values { av_dict_set(&values, key, value, 0) }
        var callback = interrupter.callback
        var opened: UnsafeMutablePointer<AVIOContext>?
        let code = avio_open2(&opened, url, AVIO_FLAG_READ, &callback, &values)
        if code < 0, interrupter.hasTimedOut, !interrupter.isInterrupted {
            throw AVFailure(operation: "open", subject: subject, code: relay_averror(ETIMEDOUT))
        }
        try AVFailure.check(code, "open", subject)
        context = try AVFailure.unwrap(opened, "open", subject)
    }

    deinit {
        var owned: UnsafeMutablePointer<AVIOContext>? = context
        avio_closep(&owned)
    }

    package func read(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
        // A read that exceeded its deadline leaves the context in the end-of-file state: reset it.
        (context.pointee.eof_reached, context.pointee.error) = (0, 0)
        let bytes = buffer.baseAddress?.assumingMemoryBound(to: UInt8.self)
        let count = avio_read_partial(context, bytes, Int32(clamping: buffer.count))
        if count > 0 { return Int(count) }
        return interrupter.mustEnd ? 0 : nil
    }
}
