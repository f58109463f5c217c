// SPDX-License-Identifier: Apache-2.0

internal import LibAV
internal import Media

/// The compressed packets of one track and their decoder. Used by one thread.
final class TrackDecoder {
    /// What ``next(inputEnded:)`` found.
    enum Output {
        /// A decoded frame.
        case frame(DecodedFrame)
        /// Nothing until another packet is queued.
        case needsPacket
        /// Nothing any more in this round.
        case ended
    }

    /// What one step of a track came to.
    enum Progress {
        /// Something was decoded.
        case advanced
        /// Another packet must be read first.
        case needsPacket
        /// The round's last frame was delivered.
        case ended
    }

    /// Errors in a row while draining after which a decoder is taken to have nothing more.
    private static let drainErrorLimit = 64

    let stream: StreamInfo
    var queue: CompressedQueue
    private let decoder: Decoder
    private let monitor: SourceMonitor
    private var isDraining = false

    init(_ stream: StreamInfo, decoder: Decoder, monitor: SourceMonitor) {
        self.stream = stream
        self.decoder = decoder
        self.monitor = monitor
        queue = CompressedQueue(timeBase: stream.timeBase)
    }

    /// The next frame. Errors are counted, and decoding goes on behind them.
    func next(inputEnded: Bool) -> Output {
        var errors = 0
        while errors < Self.drainErrorLimit || !isDraining {
            do throws(AVFailure) {
                switch try decoder.receive() {
                case .frame(let frame):
                    if frame.isDamaged { monitor.update { $0.decodeErrors += 1 } }
                    return .frame(frame)
                case .ended:
                    return .ended
                case .needsPacket:
                    if isDraining { return .ended }
                    if let packet = queue.popFirst() {
                        try decoder.send(packet)
                    } else if inputEnded {
                        isDraining = true
                        try decoder.send(nil)
                    } else {
                        return .needsPacket
                    }
                }
            } catch {
                errors += 1
                monitor.update { $0.decodeErrors += 1 }
            }
        }
        return .ended
    }

    /// When `frame` is to be shown or heard, in ticks of the stream; nil if that is not known, or not believed.
    func time(of frame: DecodedFrame) -> Int64? { Self.believed(frame.pts, in: stream.timeBase) }

    /// `ticks`, unless they are further than 100 years from 0. Files may say any 64-bit number, and sums and
    /// differences of those overflow. A century, because alsa and pulse count from 1970 (libavdevice/alsa_dec.c);
    /// 2^61, so that what is between two times that passed, and a little more, still fits.
    static func believed(_ ticks: Int64?, in base: TimeBase) -> Int64? {
        guard let ticks, ticks.magnitude <= 1 << 61 else { return nil }
        return base.rescale(ticks, to: TimeBase(1, 1)).magnitude <= 100 * 366 * 86_400 ? ticks : nil
    }

    /// Makes ready for packets from another place.
    func flush() {
        queue.removeAll()
        decoder.flush()
        isDraining = false
    }
}
