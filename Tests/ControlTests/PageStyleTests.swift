// SPDX-License-Identifier: Apache-2.0

import Foundation
import NIOCore
import Testing

@testable import Control

/// The page loads all of its stylesheets at once, so a class name has the same meaning in all of them.
@Suite("Stylesheets of the web page")
struct PageStyleTests {
    /// Classes that several stylesheets use, with the stylesheet that defines them. The others adapt them within their
    /// own parts of the page.
    private static let shared = [
        "page.css": [
            "absent", "big", "btn", "c", "cap", "cell", "clock", "failed", "glance", "head", "in", "lampdot", "lines",
            "next-cell", "note", "now-cell", "okline", "okmore", "page", "quiet", "row", "seg", "stage", "stale", "sub",
            "sure", "top", "track",
        ],
        "program.css": ["length", "on-air"],
    ]

    /// Returns the selectors of each stylesheet.
    private func selectors() throws -> [String: [String]] {
        var found: [String: [String]] = [:]
        for file in BuiltInFile.all where file.path.hasSuffix(".css") {
            found[file.path] = Self.selectors(in: String(buffer: file.content))
        }
        return found
    }

    private static func selectors(in text: String) -> [String] {
        text.replacing(/(?s)\/\*.*?\*\//, with: "").matches(of: /([^{};]+)\{/)
            .map { $0.output.1.trimmingCharacters(in: .whitespacesAndNewlines) }
            .filter { !$0.hasPrefix("@") }
            .flatMap { $0.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) } }
    }

    private static func classes(in selector: String) -> [String] {
        selector.matches(of: /\.([A-Za-z_][\w-]*)/).map { String($0.output.1) }
    }

    /// Returns the stylesheet that defines a class, among those that use it; nil if that is not listed.
    private static func home(of name: String, in sheets: Set<String>) -> String? {
        sheets.count == 1 ? sheets.first : shared.first { $0.value.contains(name) }?.key
    }

    /// Returns the errors in stylesheets with these selectors.
    private static func faults(in sheets: [String: [String]]) -> [String] {
        var users: [String: Set<String>] = [:]
        for (sheet, selectors) in sheets {
            for name in selectors.flatMap(classes) { users[name, default: []].insert(sheet) }
        }
        var faults = users.filter { home(of: $0.key, in: $0.value) == nil }.map {
            "the class \($0.key) is defined in \($0.value.sorted().joined(separator: " and "))"
        }
        for (sheet, selectors) in sheets {
            // A selector of one element with one or more classes applies wherever the page uses the class.
            for selector in selectors where selector.wholeMatch(of: /\.[^\s>+~]+/) != nil {
                guard let name = classes(in: selector).first, let users = users[name] else { continue }
                if let home = home(of: name, in: users), home != sheet {
                    faults.append("\(sheet) changes \(selector), which is at home in \(home), in the whole page")
                }
            }
        }
        return faults.sorted()
    }

    @Test("Each CSS class belongs to one stylesheet, unless it is listed as shared")
    func meanings() throws {
        let sheets = try selectors()
        #expect(sheets.count == 3 && sheets.values.allSatisfy { $0.count > 50 })
        #expect(Self.faults(in: sheets) == [])
    }

    @Test("Each CSS class that is listed as shared is used by several stylesheets")
    func list() throws {
        let sheets = try selectors().mapValues { Set($0.flatMap(Self.classes)) }
        for name in Self.shared.values.joined() {
            #expect(sheets.values.count { $0.contains(name) } > 1, "\(name)")
        }
    }

    @Test("A CSS class that two stylesheets define and that is not listed as shared is detected")
    func second() {
        let sheets = [
            "page.css": [".segment", ".seg .btn", ".btn"],
            "program.css": [".segment.on-air", ".mh .btn", ".btn:hover"],
        ]
        #expect(
            Self.faults(in: sheets) == [
                "program.css changes .btn:hover, which is at home in page.css, in the whole page",
                "the class segment is defined in page.css and program.css",
            ])
    }
}
