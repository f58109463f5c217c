// SPDX-License-Identifier: Apache-2.0

import Channel
import Foundation
import Testing

@testable import Relay
@testable import Studio

@Suite("Masked configuration files")
struct MaskedConfigurationTests {
    private func masked(_ text: String) throws -> MaskedConfiguration {
        MaskedConfiguration(
            try ConfigurationNode(parsing: text, path: "relay.yaml", words: ConfigurationKey.words),
            secrets: .init { _ in "planted-environment" })
    }

    @Test("A masked configuration file contains none of the test's secrets, and keeps values that are not secret")
    func secrets() throws {
        let masked = try masked(
            """
            # planted-comment
            channels:
              - name: studio
                input: {address: "srt://0.0.0.0:9000?passphrase=planted-passphrase&streamid=planted-stream", latency: 400ms}
                audioInput: "lavfi:movie=rtmp\\\\://h/planted-filter"
                onPublish: https://user:planted-user@rights.example/planted-hook
                outputs:
                  - rtmps://host/app/planted-key#name=main,backup=rtmps://b/app/planted-backup
                  - {address: "rtmp://bob:planted-login@host/live", backup: "rtmp://h/app/planted-two", name: two}
                  - "rtmp:host/planted-slashes"
                  - {rtmps://host/app/planted-as-key, name: x}
                  - rtmps://host/app/${KEY}
                recording: {directory: /srv/rec, upload: ":s3,secret_access_key=planted-remote:bucket"}
                planted-unknown-key: planted-unknown-value
            http:
              address: 127.0.0.1:8080
              tokens: [{role: view, token: planted-token}, {role: operate, token: "${file:/etc/relay/token}"}]
              webhooks: [{url: https://h/planted-url, secret: planted-secret, events: [alarm]}]
            """)
        #expect(!masked.text.contains("planted"), "\(masked.text)")
        for kept in [
            "name: studio", "latency: 400ms", "\"srt://0.0.0.0:9000?***\"", "directory: /srv/rec", "role: view",
            "token: \"${file:/etc/relay/token}\"", "\"https://h/***\"", "- alarm",
        ] { #expect(masked.text.contains(kept), "\(kept) in \(masked.text)") }
        #expect(masked.directories == ["/srv/rec"])
        // The secrets that masking found are removed from all other files.
        let scrubber = SecretScrubber(masked.secrets)
        for secret in [
            "planted-passphrase", "planted-stream", "planted-key", "planted-backup", "planted-token", "planted-secret",
            "planted-url", "planted-environment", "planted-unknown-value",
        ] { #expect(scrubber.scrubbing("a \(secret) b") == "a *** b") }
        #expect(scrubber.scrubbing("the channel studio records") == "the channel studio records")
    }

    @Test("A masked configuration file can be parsed again, whatever characters it contains")
    func isYAML() throws {
        let text = "channels:\n  - name: \"a: \\\"b\\\" # c\"\n    outputs: [\"udp://127.0.0.1:1\", {address: hls:a}]\n"
        let first = try masked(text)
        #expect(try masked(first.text).text == first.text)
    }
}
