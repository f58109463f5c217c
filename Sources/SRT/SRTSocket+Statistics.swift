// SPDX-License-Identifier: Apache-2.0

internal import CSRT
package import Media

extension SRTSocket {
    /// What the library counts and measures; nil where it has no connection any more. `inputBandwidth` is left open.
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

    /// Loss reports of the receiver, and packets that the library dropped unsent, from the connection's beginning.
    package var losses: Int64 {
        statistics().map { $0.totals.reportsReceived + $0.totals.packetsDropped } ?? 0
    }

    /// Tells the library the stream's rate, in bytes a second.
    package func setInputRate(_ rate: Int64) { set(SRTO_INPUTBW, rate) }

    /// What retransmissions, the packet filter and a backlog may add to the stream's rate, in percent.
    package func setOverhead(_ percent: CInt) { set(SRTO_OHEADBW, percent) }
}
