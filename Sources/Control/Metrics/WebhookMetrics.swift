// SPDX-License-Identifier: Apache-2.0

/// Metrics of the webhooks.
enum WebhookMetrics {
    static let families: [MetricFamily] = [
        webhook("relay_webhook_delivered_total", .counter, "Events that the receiver took.") { Double($0.delivered) },
        webhook("relay_webhook_failures_total", .counter, "Attempts to deliver an event that failed.") {
            Double($0.failed)
        },
        webhook("relay_webhook_left_out_total", .counter, "Events that were never delivered: too many waited.") {
            Double($0.leftOut)
        },
        webhook("relay_webhook_waiting_events", .gauge, "Events that wait to be delivered.") { Double($0.waiting) },
    ]

    private static func webhook(
        _ name: String, _ kind: MetricFamily.Kind, _ help: String,
        _ value: @escaping @Sendable (WebhookStatus) -> Double
    ) -> MetricFamily {
        MetricFamily(name: name, kind: kind, labels: ["webhook"], help: help) { snapshot, samples in
            for webhook in snapshot.webhooks { samples.add(value(webhook), webhook.name) }
        }
    }
}
