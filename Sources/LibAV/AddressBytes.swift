// SPDX-License-Identifier: Apache-2.0

internal import CFFmpeg
internal import Synchronization

/// Reads raw bytes from an address that libavformat opens; owns the `AVIOContext`. Only one thread may use it at a
/// time.
package final class AddressBytes: ByteStream {
    // Only the reading thread uses the context. `deinit` closes it, after the last read.
    nonisolated(unsafe) private let context: UnsafeMutablePointer<AVIOContext>
    /// The context calls the interrupter, so the interrupter must live as long as the context.
    private let interrupter: Interrupter
    /// The code of the last read if it failed, otherwise 0.
    private let code = Atomic<Int32>(0)

    /// Takes over `context`, which libavformat has opened with the callback of `interrupter`.
    init(taking context: UnsafeMutablePointer<AVIOContext>, interrupter: Interrupter) {
        (self.context, self.interrupter) = (context, interrupter)
    }

    /// Opens `url` with these options. Blocks; `interrupter` can end the opening and every later read. `subject` is the
    /// input's name in error messages.
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
        // After a read that exceeded its deadline, the context reports the end of the file. Resetting these fields
        // allows further reads.
        (context.pointee.eof_reached, context.pointee.error) = (0, 0)
        let bytes = buffer.baseAddress?.assumingMemoryBound(to: UInt8.self)
        let count = avio_read_partial(context, bytes, Int32(clamping: buffer.count))
        if count > 0 { return Int(count) }
        code.store(count, ordering: .relaxed)
        return interrupter.mustEnd ? 0 : nil
    }

    package var failure: Int32? {
        let code = code.load(ordering: .relaxed)
        return code < 0 && code != relay_averror_eof ? code : nil
    }
}
