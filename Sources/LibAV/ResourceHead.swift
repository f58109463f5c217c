// SPDX-License-Identifier: Apache-2.0

internal import CFFmpeg

/// The first bytes of the resource at a URL. libavformat reads them in the same way as media.
package struct ResourceHead: Sendable {
    /// The bytes that were read.
    package let bytes: [UInt8]

    /// Reads at most `limit` bytes of `url`, for at most `timeout`. An HTTP request also gets the lines in `headers`.
    /// Blocks; `interrupter` can end the call, and no other call may use it meanwhile. `subject` is the input's name in
    /// error messages.
    package init(
        of url: String, headers: String? = nil, limit: Int, timeout: Duration, interrupter: Interrupter, subject: String
    ) throws(AVFailure) {
        _ = Library.prepared
        interrupter.allow(timeout)
        var callback = interrupter.callback
        var opened: UnsafeMutablePointer<AVIOContext>?
        var dictionary: OpaquePointer?
        defer { av_dict_free(&dictionary) }
        if let headers { av_dict_set(&dictionary, "headers", headers, 0) }
        try AVFailure.check(avio_open2(&opened, url, AVIO_FLAG_READ, &callback, &dictionary), "open", subject)
        let context = try AVFailure.unwrap(opened, "open", subject)
        defer {
            var owned: UnsafeMutablePointer<AVIOContext>? = context
            avio_closep(&owned)
        }
        var buffer = [UInt8](repeating: 0, count: limit)
        var count = 0
        while count < limit {
            let read = buffer[count...].withUnsafeMutableBytes { rest in
                avio_read_partial(
                    context, rest.baseAddress?.assumingMemoryBound(to: UInt8.self), Int32(min(rest.count, 1 << 16)))
            }
            if read == relay_averror_eof || read == 0 { break }
            // An HTTP server may end a response of unknown length by closing the connection. In that case libavformat
            // returns `EIO`, unless the server has announced the close with "Connection: close".
            if read == relay_averror(EIO), avio_size(context) < 0 { break }
            count += Int(try AVFailure.check(read, "read", subject))
        }
        bytes = Array(buffer.prefix(count))
    }
}
