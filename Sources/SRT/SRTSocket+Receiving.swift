// SPDX-License-Identifier: Apache-2.0

internal import CSRT
internal import Glibc
internal import Networking

extension SRTSocket {
    /// The maximum length of a message from a sender (`SRTO_PAYLOADSIZE`), in bytes.
    static let longestMessage = 1456
    /// The time for which ``receive(into:)`` waits for a message, in milliseconds.
    private static let receiveTimeout: CInt = 100

    /// The result of waiting for a message.
    enum Received: Equatable {
        /// A message of this length was received.
        case bytes(Int)
        /// No message arrived within the time limit.
        case nothing
        /// The connection has ended.
        case ended
    }

    /// Makes calls of ``receive(into:)`` block for up to 100 ms. The socket must be connected.
    func prepareToReceive() {
        set(SRTO_RCVTIMEO, Self.receiveTimeout)
        set(SRTO_RCVSYN, true)
    }

    /// Waits until the next message is due and copies it into `buffer`, which has at least ``longestMessage`` bytes.
    /// Blocks for at most a tenth of a second. Only one thread at a time may call this.
    func receive(into buffer: UnsafeMutableRawBufferPointer) -> Received {
        let count = srt_recvmsg(handle, buffer.assumingMemoryBound(to: CChar.self).baseAddress, CInt(buffer.count))
        if count > 0 { return .bytes(Int(count)) }
        if count == 0 { return .ended }
        var system: CInt = 0
        switch srt_getlasterror(&system) {
        case SRT_ETIMEOUT.rawValue, SRT_EASYNCRCV.rawValue: return .nothing
        default: return .ended
        }
    }

    /// The stream ID that the caller has sent; empty if it has sent none.
    var streamID: String {
        var text = [CChar](repeating: 0, count: SRTStreamID.maximumBytes + 1)
        var length = CInt(text.count)
        guard srt_getsockflag(handle, SRTO_STREAMID, &text, &length) == 0 else { return "" }
        return String(decoding: text.prefix(Int(length)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// The IP address of the peer, for the log; `?` if it is not known.
    var peerAddress: String {
        var storage = sockaddr_storage()
        var length = CInt(MemoryLayout<sockaddr_storage>.size)
        var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        let status = withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                srt_getpeername(handle, address, &length) == 0
                    ? getnameinfo(address, socklen_t(length), &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST) : -1
            }
        }
        guard status == 0 else { return "?" }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// The receive statistics from libsrt; nil without a connection.
    func receivingStatistics() -> SRTInputStatistics? {
        var stats = SRT_TRACEBSTATS()
        guard srt_bistats(handle, &stats, 0, 1) == 0 else { return nil }
        var result = SRTInputStatistics()
        result.totals.packetsReceived = stats.pktRecvTotal
        result.totals.packetsUnique = stats.pktRecvUniqueTotal
        // libsrt counts retransmitted and late packets since its interval counters were last cleared. relay never
        // clears them, so they count from the beginning of the connection.
        result.totals.packetsRetransmitted = Int64(stats.pktRcvRetrans)
        result.totals.packetsBelated = stats.pktRcvBelated
        result.totals.packetsLost = Int64(stats.pktRcvLossTotal)
        result.totals.packetsDropped = Int64(stats.pktRcvDropTotal)
        result.totals.packetsUndecrypted = Int64(stats.pktRcvUndecryptTotal)
        result.totals.bytesReceived = Int64(clamping: stats.byteRecvUniqueTotal)
        result.moment = SRTInputStatistics.Moment(
            roundTripMilliseconds: stats.msRTT, receiveRate: stats.mbpsRecvRate, bandwidth: stats.mbpsBandwidth,
            bufferMilliseconds: Int(stats.msRcvBuf), bufferPackets: Int(stats.pktRcvBuf),
            bufferFreeBytes: Int(stats.byteAvailRcvBuf), latencyMilliseconds: Int(stats.msRcvTsbPdDelay))
        return result
    }

    /// Whether the media is encrypted and can be decrypted with the configured passphrase.
    var isDecrypting: Bool {
        var value: CInt = 0
        var length = CInt(MemoryLayout<CInt>.size)
        guard srt_getsockflag(handle, SRTO_RCVKMSTATE, &value, &length) == 0 else { return false }
        return UInt32(bitPattern: value) == SRT_KM_S_SECURED.rawValue
    }
}

extension SRTCall {
    /// Sets an option of the address for this caller only. Returns false if libsrt rejects the value.
    func apply(_ value: SRTOptionValue, to option: SRTOption) -> Bool {
        value.withUnsafeBytes { srt_setsockflag(socket, option.symbol, $0.baseAddress, CInt($0.count)) == 0 }
    }
}
