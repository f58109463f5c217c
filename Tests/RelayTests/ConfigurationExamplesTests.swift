// SPDX-License-Identifier: Apache-2.0

import Channel
import Foundation
import Status
import TestSupport
import Testing

@testable import Control
@testable import Relay

@Suite("Examples of configuration files")
struct ConfigurationExamplesTests {
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("Config/examples")

    private static var names: [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []).sorted()
    }

    /// Returns the file's configuration as if everything that the file refers to existed.
    private static func read(_ name: String) throws -> HostConfiguration {
        let text = try String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8)
        let usable = text.replacing(/\$\{[^}]*\}/, with: "key-of-more-than-twelve")
            .replacing("/srv/media/slate.png", with: "/dev/null")
        return try HostConfiguration(parsing: usable, path: name)
    }

    @Test(
        "Each example configuration is valid, contains no secret, and begins with a comment on its purpose",
        arguments: names)
    func isRight(name: String) throws {
        let file = try Self.read(name)
        #expect(file.http.address != nil)
        let text = try String(contentsOf: Self.folder.appendingPathComponent(name), encoding: .utf8)
        #expect(text.hasPrefix("# "))
        // After `passphrase`, `token` or `secret` there is a reference or a path, and never the secret itself.
        #expect(!text.contains(/(?i)(passphrase|token|secret): *"?[^$ "\/]/))
    }

    @Test("The example configurations cover the common use cases")
    func cases() throws {
        #expect(
            Self.names == [
                "backups.yaml", "camera-two-services.yaml", "channels.yaml", "passthrough.yaml", "recorder.yaml",
                "reverse-proxy.yaml",
            ])
        #expect(try Self.read("channels.yaml").channels.count == 3)
        #expect(try Self.read("backups.yaml").channels[0].configuration.sources[0].backups.count == 2)
        #expect(try Self.read("reverse-proxy.yaml").http.tokens.map(\.role) == [.view, .operate])
        #expect(try Self.read("recorder.yaml").http.webhooks.first?.level == .warning)
    }
}
