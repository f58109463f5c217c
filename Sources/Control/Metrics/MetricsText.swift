// SPDX-License-Identifier: Apache-2.0

/// A snapshot as Prometheus text, version 0.0.4. Nothing is counted here: counters are those of the snapshots.
enum MetricsText {
    /// All families, in the order in which they are written: `docs/metrics.md` lists them.
    static let families =
        ChannelMetrics.families + ProgramMetrics.families + EncoderMetrics.families + RenditionMetrics.families
        + OutputMetrics.families + RecorderMetrics.families + SourceRecordingMetrics.families + StorageMetrics.families
        + SourceMetrics.families + SRTMetrics.families
        + MonitorMetrics.families + WebhookMetrics.families + ProcessMetrics.families

    /// All metrics.
    static func render(_ snapshot: MetricsSnapshot) -> String {
        var samples = MetricSamples()
        for family in families {
            samples.begin(family)
            family.read(snapshot, &samples)
        }
        return samples.text
    }
}
