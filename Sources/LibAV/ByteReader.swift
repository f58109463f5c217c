// SPDX-License-Identifier: Apache-2.0

internal import CFFmpeg

/// A source of bytes from which a ``Demuxer`` can read instead of a URL.
package protocol ByteStream: AnyObject, Sendable {
    /// Copies the next bytes into `buffer` and returns their count. Returns 0 if no bytes arrived within some tenths of
    /// a second, and nil at the end of the stream. The reading thread calls it.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int?
    /// libav's code of the error that ended the stream; nil if it ended without an error.
    var failure: Int32? { get }
}

extension ByteStream {
    package var failure: Int32? { nil }
}

/// Lets libavformat read a ``ByteStream``; owns an `AVIOContext`. A `ByteReader` must outlive the demuxer that reads
/// from it.
final class ByteReader {
    /// The object to which the opaque pointer of libavformat's callback points.
    private final class Source {
        let stream: any ByteStream
        let interrupter: Interrupter

        init(_ stream: any ByteStream, _ interrupter: Interrupter) {
            (self.stream, self.interrupter) = (stream, interrupter)
        }
    }

    /// The buffer has room for several network messages with TS packets.
    private static let bufferBytes = 32 << 10

    let context: UnsafeMutablePointer<AVIOContext>
    private let source: Source

    /// The stream from which libavformat reads.
    var stream: any ByteStream { source.stream }

    /// Creates a reader of `stream`, whose next byte is at `position`. `interrupter` can end a wait for bytes. `subject`
    /// is the input's name in error messages.
    init(
        _ stream: any ByteStream, at position: Int64 = 0, interrupter: Interrupter, subject: String
    ) throws(AVFailure) {
        source = Source(stream, interrupter)
        let buffer = av_malloc(Self.bufferBytes)?.assumingMemoryBound(to: UInt8.self)
        let opaque = Unmanaged.passUnretained(source).toOpaque()  // the source lives as long as the context
        let context = avio_alloc_context(
            buffer, Int32(Self.bufferBytes), 0, opaque,
            { opaque, bytes, count in
                guard let opaque else { return relay_averror(EINVAL) }
                let source = Unmanaged<Source>.fromOpaque(opaque).takeUnretainedValue()
                let buffer = UnsafeMutableRawBufferPointer(start: bytes, count: Int(count))
                while !source.interrupter.mustEnd {
                    guard let count = source.stream.read(into: buffer) else {
                        return source.stream.failure ?? relay_averror_eof
                    }
                    if count > 0 { return Int32(clamping: count) }
                }
                return relay_averror_exit
            }, nil, nil)
        guard let context, buffer != nil else {
            av_free(buffer)
            throw AVFailure(operation: "allocate a buffer for", subject: subject, code: relay_averror(ENOMEM))
        }
        context.pointee.pos = position
        self.context = context
    }

    deinit {
        av_freep(&context.pointee.buffer)  // libavformat may have replaced the buffer of `init`
        var owned: UnsafeMutablePointer<AVIOContext>? = context
        avio_context_free(&owned)
    }
}
