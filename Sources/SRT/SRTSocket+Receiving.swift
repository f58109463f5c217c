// SPDX-License-Identifier: Apache-2.0

internal import CSRT
internal import Glibc
internal import Networking

extension SRTSocket {
    /// The maximum length of a sender's message (`SRTO_PAYLOADSIZE`), in bytes.
    static let longestMessage = 1456
    /// Time limit of ``receive(into:)``, in milliseconds.
    private static let receiveTimeout: CInt = 100

    /// The result of a wait for a message.
    enum Received: Equatable {
        /// A message of this length.
        case bytes(Int)
        /// No message arrived in time.
        case nothing
        /// The connection ended.
        case ended
    }

    /// Makes ``receive(into:)`` blocking. The socket must be connected.
    func prepareToReceive() {
        set(SRTO_RCVTIMEO, Self.receiveTimeout)
        set(SRTO_RCVSYN, true)
    }

    /// Copies the next message into `buffer`, which has at least ``longestMessage`` bytes, when the message is due.
    /// Blocks for at most a tenth of a second. Only one thread at a time may call it.
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

    /// The caller's stream ID; empty if it has sent none.
    var streamID: String {
        var text = [CChar](repeating: 0, count: SRTStreamID.maximumBytes + 1)
        var length = CInt(text.count)
        guard srt_getsockflag(handle, SRTO_STREAMID, &text, &length) == 0 else { return "" }
        return String(decoding: text.prefix(Int(length)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// The IP address of a caller, for the log.
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

    /// The library's receive statistics; nil without a connection.
    func receivingStatistics() -> SRTInputStatistics? {
        var stats = SRT_TRACEBSTATS()
        guard srt_bistats(handle, &stats, 0, 1) == 0 else { return nil }
        var result = SRTInputStatistics()
        result.totals.packetsReceived = stats.pktRecvTotal
        result.totals.packetsUnique = stats.pktRecvUniqueTotal
        // These counters are per interval, but they are never cleared here, so they also count from the beginning.
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

    /// Whether the media is encrypted with the key that we have.
    var isDecrypting: Bool {
        var value: CInt = 0
        var length = CInt(MemoryLayout<CInt>.size)
        guard srt_getsockflag(handle, SRTO_RCVKMSTATE, &value, &length) == 0 else { return false }
        return UInt32(bitPattern: value) == SRT_KM_S_SECURED.rawValue
    }
}

extension SRTCall {
    /// Sets one option of an address for this caller only. Returns false if the library rejects it.
    func apply(_ value: SRTOptionValue, to option: SRTOption) -> Bool {
        value.withUnsafeBytes { srt_setsockflag(socket, option.symbol, $0.baseAddress, CInt($0.count)) == 0 }
    }
}
