// SPDX-License-Identifier: Apache-2.0

import Channel
import Control
import FanOut
import Foundation
import Media
import Networking
import Publisher
import Testing

/// Compares the documentation with the code that it describes.
@Suite("Documentation")
struct DocumentationTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    private static let folders = ["", "docs", "Config", "scripts", "Tests"]

    /// The pages, by their paths in the repository.
    private static var pages: [String] {
        folders.flatMap { folder in
            ((try? FileManager.default.contentsOfDirectory(atPath: root.appending(path: folder).path)) ?? [])
                .filter { $0.hasSuffix(".md") }.map { folder.isEmpty ? $0 : "\(folder)/\($0)" }
        }.sorted()
    }

    private static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    /// Returns the page without code, in which brackets are no links and `#` begins no heading.
    private static func prose(_ text: String) -> [Substring] {
        var isCode = false
        return text.split(separator: "\n", omittingEmptySubsequences: false).filter { line in
            if line.hasPrefix("```") { isCode.toggle() }
            return !isCode && !line.hasPrefix("    ")
        }
    }

    /// Returns the anchors of a page's headings, as GitHub makes them.
    private static func anchors(_ text: String) -> Set<String> {
        var anchors: Set<String> = []
        for line in prose(text) where line.hasPrefix("#") {
            let title = line.drop { $0 == "#" }.trimmingCharacters(in: .whitespaces).lowercased()
            let anchor = String(
                title.filter { $0.isLetter || $0.isNumber || $0 == " " || $0 == "-" || $0 == "_" }
                    .map { $0 == " " ? "-" : $0 })
            var unique = anchor
            var count = 1
            while !anchors.insert(unique).inserted {
                unique = "\(anchor)-\(count)"
                count += 1
            }
        }
        return anchors
    }

    /// Returns the targets of the links in a page.
    private static func links(_ text: String) -> [String] {
        prose(text).flatMap { line in line.matches(of: /\]\(([^)\s]+)\)/).map { String($0.1) } }
    }

    /// Returns the error in a link of the page `page`; nil without error.
    private static func fault(of link: String, in page: String) throws -> String? {
        if link.contains("://") || link.hasPrefix("mailto:") { return nil }
        let sides = link.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
        let folder = URL(fileURLWithPath: page, relativeTo: root).deletingLastPathComponent()
        let target = sides[0].isEmpty ? root.appending(path: page) : folder.appending(path: String(sides[0]))
        guard FileManager.default.fileExists(atPath: target.path) else { return "\(page): \(link) is not there" }
        guard sides.count == 2 else { return nil }
        let has = anchors(try String(contentsOf: target, encoding: .utf8)).contains(String(sides[1]))
        return has ? nil : "\(page): \(link) names no heading"
    }

    @Test("docs/control.md lists the kinds of events that a webhook can select")
    func eventKinds() throws {
        let rows = try Self.text("docs/control.md").split(separator: "\n")
        let row = try #require(rows.first { $0.hasPrefix("| `kind` |") })
        let listed = row.prefix { $0 != ";" }.matches(of: /`([a-z]+)`/).map { String($0.1) }.dropFirst()
        #expect(listed.sorted() == WebhookSettings.allKinds.map(\.rawValue).sorted())
    }

    @Test("Every relative link in the documents leads to an existing file, and every anchor to a heading")
    func links() throws {
        let pages = Self.pages
        #expect(pages.contains("README.md") && pages.contains("docs/architecture.md"))
        var count = 0
        for page in pages {
            let links = Self.links(try Self.text(page))
            count += links.count
            for link in links { #expect(try Self.fault(of: link, in: page) == nil) }
        }
        #expect(count > 20)
    }

    @Test("A broken link in a document is detected")
    func findsBrokenLinks() throws {
        #expect(try Self.fault(of: "docs/nothing.md", in: "README.md") != nil)
        #expect(try Self.fault(of: "docs/operation.md#nothing", in: "README.md") != nil)
        #expect(try Self.fault(of: "../README.md", in: "docs/operation.md") == nil)
        #expect(Self.anchors("# A `b`, c\n## A b c\n    # code") == ["a-b-c", "a-b-c-1"])
        #expect(Self.links("[a](b.md#c) and [d](e)\n    [f](g)") == ["b.md#c", "e"])
    }

    /// Returns all Swift files of the sources.
    private static func sources() throws -> [String] {
        let files = FileManager.default.enumerator(at: root.appending(path: "Sources"), includingPropertiesForKeys: nil)
        return try (files?.allObjects ?? []).compactMap { $0 as? URL }.filter { $0.pathExtension == "swift" }
            .map { try String(contentsOf: $0, encoding: .utf8) }
    }

    @Test("Every key that occurs in the log is described in the documents")
    func logKeys() throws {
        let page = try Self.text("docs/operation.md")
        var keys: Set<String> = []
        for text in try Self.sources() {
            keys.formUnion(text.matches(of: /"([a-z_]+)": "\\\(/).map { String($0.1) })
            keys.formUnion(text.matches(of: /metadataKey: "([a-z_]+)"/).map { String($0.1) })
        }
        #expect(keys.contains("output") && keys.contains("segment"))
        for key in keys.sorted() { #expect(page.contains("`\(key)`"), "\(key)") }
    }

    @Test("Every status number of an output is described in the documents")
    func details() throws {
        let page = try Self.text("docs/operation.md")
        var keys: Set<String> = []
        for kind in OutputDetails.Receivers.Kind.allCases {
            var (details, statistics) = (OutputDetails(), SRTStatistics())
            statistics.moment = .init(
                roundTripMilliseconds: 1, sendRate: 1, bandwidth: 1, maximumBandwidth: 1, inputBandwidth: 1,
                packetsInFlight: 1, flowWindow: 1, sendBufferMilliseconds: 1, sendBufferFreeBytes: 1,
                latencyMilliseconds: 1)
            details.srt = statistics
            for number in OutputKind.all.flatMap(\.numbers) { details.set(number, to: 1) }
            details.receivers = .init(kind)
            let object = try JSONSerialization.jsonObject(with: JSONEncoder().encode(details)) as? [String: Any]
            keys.formUnion(object.map { Array($0.keys) } ?? [])
        }
        #expect(keys.contains("rtt_ms") && keys.contains("players_total") && keys.contains("segments"))
        for key in keys.sorted() { #expect(page.contains("`\(key)`"), "\(key)") }
    }

    @Test("Every kind of output, and each of its options, is described in the documents")
    func outputs() throws {
        let page = try Self.text("docs/outputs.md")
        for kind in OutputKind.all {
            for beginning in kind.beginnings { #expect(page.contains(beginning), "\(beginning)") }
            for option in kind.options { #expect(page.contains("`\(option.name)="), "\(option.name)") }
        }
        for option in OutputSpecification.options { #expect(page.contains("`\(option.name)=`"), "\(option.name)") }
    }

    /// The part of the API's description that lists the kinds of outputs.
    private struct Description: Decodable {
        struct Components: Decodable { let schemas: Schemas }
        struct Schemas: Decodable {
            let output: Output
            enum CodingKeys: String, CodingKey { case output = "Output" }
        }
        struct Output: Decodable { let properties: Properties }
        struct Properties: Decodable { let kind: Kind }
        struct Kind: Decodable {
            let names: [OutputKindName]
            enum CodingKeys: String, CodingKey { case names = "enum" }
        }
        let components: Components
    }

    @Test("The OpenAPI description lists exactly the kinds of outputs that the status can report")
    func outputKinds() throws {
        let text = try Self.text("Sources/Page/openapi.json")
        let description = try JSONDecoder().decode(Description.self, from: Data(text.utf8))
        #expect(description.components.schemas.output.properties.kind.names == OutputKind.all.flatMap(\.names))
    }

    /// The targets of the package, each with the targets of the package that it imports.
    private static func targets() throws -> [String: Set<String>] {
        let manifest = try text("Package.swift").replacing(/\.product\([^)]*\)/, with: "")
        let declared = manifest.matches(
            of: /\.(?:target|executableTarget)\(\s*name: "(\w+)"(?:,\s*dependencies: \[([^\]]*)\])?/)
        let imports = declared.map { match in
            (String(match.1), Set((match.2 ?? "").matches(of: /"(\w+)"/).map { String($0.1) }))
        }
        let all = Dictionary(imports) { $1 }
        return all.mapValues { $0.intersection(all.keys) }
    }

    @Test("The table in docs/architecture.md lists every target in Sources and the targets that it imports")
    func rooms() throws {
        var rows: [String: Set<String>] = [:]
        for line in try Self.text("docs/architecture.md").split(separator: "\n") {
            guard let match = line.wholeMatch(of: /\| `(\w+)` \| .* \| ([\w, –]+) \|/) else { continue }
            rows[String(match.1)] = Set(match.2.split(separator: ", ").map(String.init))
        }
        let targets = try Self.targets()
        #expect(targets["LibAV"] == ["Media"] && targets.count > 15)
        for (name, imports) in targets where !name.hasSuffix("Bench") {
            // The table does not contain targets outside of `Sources`, which only tests share.
            let folder = Self.root.appending(path: "Sources/\(name)").path
            guard FileManager.default.fileExists(atPath: folder) else { continue }
            let row = rows[name] ?? []
            #expect(row == (imports.isEmpty ? ["–"] : imports) || row == ["all"], "\(name): \(imports.sorted())")
        }
    }

    /// Returns the labels of queues and threads in the sources. If a label contains a string interpolation, only the
    /// part before it is returned, and `isWhole` is false.
    private static func labels() throws -> [(text: String, isWhole: Bool)] {
        try sources().flatMap { text in
            let named = text.matches(of: /(?:Queue\(\s*label|Watcher\(name|thread): "(relay\.[^"\\]*)(["\\])/)
            let started = text.matches(
                of: /(?:Thread\.start|Work\.start|Answer\.of|Blocking)\("(relay\.[^"\\]*)(["\\])/)
            return (named + started).map { (text: String($0.1), isWhole: $0.2 == "\"") }
        }
    }

    @Test("The table of threads in docs/architecture.md lists the label of every queue and thread in Sources")
    func threads() throws {
        let sections = try Self.text("docs/architecture.md").components(separatedBy: "\n## ")
        let section = try #require(sections.first { $0.hasPrefix("Threads and queues") })
        let cells = section.split(separator: "\n").filter { $0.hasPrefix("|") }.compactMap {
            $0.split(separator: "|").first
        }
        let listed = cells.flatMap { cell in cell.matches(of: /`([^`]+)`/).map { String($0.1) } }
        let labels = try Self.labels()
        #expect(labels.count > 50 && labels.contains { $0.text == "relay.resolver" && $0.isWhole })
        for label in labels {
            let isListed = listed.contains { label.isWhole ? $0 == label.text : $0.hasPrefix(label.text) }
            #expect(isListed, "\(label.text)")
        }
    }

    @Test("The README does not exceed its maximum length")
    func firstPage() throws {
        #expect(try Self.text("README.md").split(separator: "\n", omittingEmptySubsequences: false).count <= 150)
    }
}
