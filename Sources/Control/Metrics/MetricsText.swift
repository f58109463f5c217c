// SPDX-License-Identifier: Apache-2.0

/// Formats a snapshot as Prometheus text, version 0.0.4. All counters come from the snapshot.
enum MetricsText {
    /// All metrics, in the order in which they are written. `docs/metrics.md` has the same order.
    static let families =
        ChannelMetrics.families + ProgramMetrics.families + EncoderMetrics.families + RenditionMetrics.families
        + OutputMetrics.families + RecorderMetrics.families + SourceRecordingMetrics.families + StorageMetrics.families
        + SourceMetrics.families + SRTMetrics.families
        + MonitorMetrics.families + WebhookMetrics.families + ProcessMetrics.families

    /// Returns all metrics of `snapshot` as text.
    static func render(_ snapshot: MetricsSnapshot) -> String {
        var samples = MetricSamples()
        for family in families {
            samples.begin(family)
            family.read(snapshot, &samples)
        }
        return samples.text
    }
}
