// SPDX-License-Identifier: Apache-2.0

internal import CSRT
package import Media

extension SRTSocket {
    /// The library's statistics; nil without a connection. `inputBandwidth` is not set.
    package func statistics() -> SRTStatistics? {
        var stats = SRT_TRACEBSTATS()
        guard srt_bistats(handle, &stats, 0, 1) == 0 else { return nil }
        var result = SRTStatistics()
        result.totals.packetsSent = stats.pktSentTotal
        result.totals.packetsSentUnique = stats.pktSentUniqueTotal
        result.totals.packetsRetransmitted = Int64(stats.pktRetransTotal)
        result.totals.packetsLost = Int64(stats.pktSndLossTotal)
        result.totals.packetsDropped = Int64(stats.pktSndDropTotal)
        result.totals.bytesDropped = Int64(clamping: stats.byteSndDropTotal)
        result.totals.reportsReceived = Int64(stats.pktRecvNAKTotal)
        result.moment = SRTStatistics.Moment(
            roundTripMilliseconds: stats.msRTT, sendRate: stats.mbpsSendRate, bandwidth: stats.mbpsBandwidth,
            maximumBandwidth: stats.mbpsMaxBW, packetsInFlight: Int(stats.pktFlightSize),
            flowWindow: Int(stats.pktFlowWindow), sendBufferMilliseconds: Int(stats.msSndBuf),
            sendBufferFreeBytes: Int(stats.byteAvailSndBuf), latencyMilliseconds: Int(stats.msSndTsbPdDelay))
        return result
    }

    /// The number of loss reports from the receiver since the connection began, plus the number of packets that the
    /// library dropped without sending them.
    package var losses: Int64 {
        statistics().map { $0.totals.reportsReceived + $0.totals.packetsDropped } ?? 0
    }

    /// Sets the stream's rate in the library, in bytes per second.
    package func setInputRate(_ rate: Int64) { set(SRTO_INPUTBW, rate) }

    /// Sets the additional rate for retransmissions, the packet filter and a backlog, in percent of the stream's rate.
    package func setOverhead(_ percent: CInt) { set(SRTO_OHEADBW, percent) }
}
