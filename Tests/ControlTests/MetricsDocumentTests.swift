// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import Control

/// Compares the table of metrics in `docs/metrics.md`, and the files installed with it, with the code.
///
/// `RELAY_WRITE_REFERENCE=1 swift test --filter MetricsDocumentTests` writes the table again.
@Suite("The documentation of metrics")
struct MetricsDocumentTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()
    private static let begin = "| name | type | labels | is |\n|---|---|---|---|\n"

    private func text(_ path: String) throws -> String {
        try String(contentsOf: Self.root.appending(path: path), encoding: .utf8)
    }

    private var table: String {
        MetricsText.families.map { family in
            let labels = family.labels.map { "`\($0)`" }.joined(separator: ", ")
            return "| `\(family.name)` | \(family.kind.rawValue) | \(labels) | \(family.help) |\n"
        }.joined()
    }

    @Test("docs/metrics.md lists all existing metrics, and no others")
    func isCurrent() throws {
        let page = try text("docs/metrics.md")
        let start = try #require(page.range(of: Self.begin)?.upperBound)
        let end = page.range(of: "\n\n", range: start..<page.endIndex)?.lowerBound ?? page.endIndex
        if ProcessInfo.processInfo.environment["RELAY_WRITE_REFERENCE"] == "1" {
            let written = page[..<start] + table.dropLast() + page[end...]
            try String(written).write(
                to: Self.root.appending(path: "docs/metrics.md"), atomically: true, encoding: .utf8)
            return
        }
        #expect(
            page[start..<end] + "\n" == table,
            "RELAY_WRITE_REFERENCE=1 swift test --filter MetricsDocumentTests writes it anew")
    }

    @Test(
        "Alert rules, dashboard and documents use only existing metrics",
        arguments: [
            "Config/prometheus/relay.rules.yml", "Config/prometheus/tests/relay.rules.test.yml",
            "Config/grafana/relay.json", "docs/metrics.md", "docs/runbook.md", "docs/operation.md",
        ])
    func references(path: String) throws {
        let names = Set(MetricsText.families.map(\.name))
        let histograms = Set(MetricsText.families.filter { $0.kind == .histogram }.map(\.name))
        // Checks only words that begin like one of relay's metrics: with `relay_` and the name of a subsystem.
        let subsystems = Set(names.compactMap { $0.split(separator: "_").dropFirst().first.map(String.init) })
        for match in try text(path).matches(of: /\brelay_([a-z]+)_[a-z_]*[a-z]\b/) {
            let name = String(match.0)
            guard subsystems.contains(String(match.1)) else { continue }
            let base = ["_bucket", "_sum", "_count"].first { name.hasSuffix($0) }.map {
                String(name.dropLast($0.count))
            }
            #expect(names.contains(name) || histograms.contains(base ?? ""), "\(path) speaks of \(name)")
        }
    }

    @Test("Each alert has a paragraph in docs/runbook.md and a test case, and each paragraph has an alert")
    func alerts() throws {
        let rules = try text("Config/prometheus/relay.rules.yml").matches(of: /- alert: (\w+)/).map { String($0.1) }
        #expect(Set(rules).count == rules.count && rules.count > 20)
        let links = try text("Config/prometheus/relay.rules.yml").matches(of: /runbook.md#(\w+)/).map { String($0.1) }
        #expect(links == rules.map { $0.lowercased() })
        let headings = try text("docs/runbook.md").matches(of: /\n### (\w+)\n/).map { String($0.1) }
        #expect(headings == rules)
        let tested = try text("Config/prometheus/tests/relay.rules.test.yml").matches(of: /\balertname: (\w+)/)
        #expect(Set(tested.map { String($0.1) }) == Set(rules))
    }
}
