// SPDX-License-Identifier: Apache-2.0

import FanOut
import Foundation
import Ingest
import Publisher
import Testing

@testable import Channel

@Suite("References to secrets")
final class SecretReferencesTests: Sendable {
    private let directory: URL

    init() throws {
        directory = FileManager.default.temporaryDirectory.appendingPathComponent("relay-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: directory) }

    private func file(_ text: String, mode: Int = 0o600, name: String = "key") throws -> String {
        let path = directory.appendingPathComponent(name).path
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        return path
    }

    private func expand(_ text: String, _ environment: [String: String] = [:]) throws -> String {
        try SecretReferences { environment[$0] }.expand(text)
    }

    /// The sentence with which `text` is refused; empty if it is accepted.
    private func refusal(_ text: String, _ environment: [String: String] = [:]) -> String {
        do {
            return try "not refused: " + expand(text, environment)
        } catch {
            return "\(error)"
        }
    }

    @Test("A reference to an environment variable is replaced by the variable's value")
    func variables() throws {
        let environment = ["KEY": "a,b#c${KEY}", "HOST_1": "host"]
        #expect(try expand("rtmp://${HOST_1}/live/${KEY}?x", environment) == "rtmp://host/live/a,b#c${KEY}?x")
        #expect(try expand("${KEY}", environment) == "a,b#c${KEY}")
    }

    @Test(
        "A text without references to secrets is unchanged",
        arguments: ["", "$", "a$b", "{}", "$KEY", "rtmp://h/a/k$", "100%"])
    func plain(text: String) throws { #expect(try expand(text) == text) }

    @Test("An escaped $${ becomes the characters ${")
    func escape() throws {
        #expect(try expand("a$${KEY}b") == "a${KEY}b")
        #expect(try expand("$${${KEY}", ["KEY": "x"]) == "${x")
    }

    @Test(
        "A reference to a file is replaced by the file's text, without the final line feed",
        arguments: ["\n", "", "\r\n"])
    func files(ending: String) throws {
        let path = try file("topsecret" + ending)
        #expect(try expand("rtmp://h/live/${file:\(path)}") == "rtmp://h/live/topsecret")
    }

    @Test("A file with a secret that other users may read is refused", arguments: [0o640, 0o604, 0o644, 0o660, 0o606])
    func permissions(mode: Int) throws {
        let path = try file("topsecret\n", mode: mode)
        let text = refusal("${file:\(path)}")
        #expect(text.contains("chmod 600 \(path)") && !text.contains("topsecret"))
    }

    @Test("A file in the service manager's credentials may have group permissions, but not if its path contains ..")
    func credentials() throws {
        let environment = ["CREDENTIALS_DIRECTORY": directory.path]
        let path = try file("topsecret\n", mode: 0o440)
        #expect(try expand("${file:\(path)}", environment) == "topsecret")
        let detour = "\(directory.path)/../\(directory.lastPathComponent)/key"
        #expect(refusal("${file:\(detour)}", environment).contains("chmod"))
        #expect(refusal("${file:\(path)}", ["CREDENTIALS_DIRECTORY": directory.path + "/k"]).contains("chmod"))
        #expect(refusal("${file:\(path)}", ["CREDENTIALS_DIRECTORY": ""]).contains("chmod"))
    }

    @Test("An invalid reference to a secret is refused with the reason, without repeating a value")
    func refusals() throws {
        #expect(refusal("rtmp://h/a/${MISSING}").contains("MISSING is not set"))
        #expect(refusal("${EMPTY}", ["EMPTY": ""]).contains("EMPTY is not set"))
        #expect(refusal("a${KEY", ["KEY": "x"]).contains("no }"))
        for text in ["${topsecret-1}", "${}", "${1A}", "${topsecret key}", "${FILE:/x}"] {
            #expect(refusal(text).contains("name of a variable") && !refusal(text).contains("topsecret"), "\(text)")
        }
        #expect(refusal("${file:key}").contains("from the root on"))
        #expect(refusal("${file:\(directory.path)/none}").contains("\(directory.path)/none cannot be read"))
        #expect(refusal("${file:\(directory.path)}").contains("no file"))
        #expect(refusal("${file:\(try file("\n"))}").contains("empty"))
        let lines = refusal("${file:\(try file("topsecret\nother\n"))}")
        #expect(lines.contains("more than one line") && !lines.contains("topsecret"))
        #expect(refusal("${file:\(try file(String(repeating: "x", count: 70_000)))}").contains("too long"))
        #expect(refusal("${LINES}", ["LINES": "topsecret\u{7}"]).contains("LINES holds more"))
    }

    @Test("An output's address and option values may contain references to secrets")
    func outputs() throws {
        let secrets = SecretReferences { ["KEY": "k,e=y#1", "P": "user:pa,ss", "ALL": "rtmp://host/live/key"][$0] }
        let output = try OutputSpecification(
            "rtmp://host/live/${KEY}#name=a,proxy=http://${P}@proxy:80,backup=rtmp://b/live/${KEY},retry=3",
            secrets: secrets)
        #expect(output.text == "rtmp://host/live/k,e=y#1" && output.name == "a" && output.retry.attemptLimit == 3)
        #expect(output.backup?.kind.name == OutputKind.rtmp.name)
        #expect(try OutputSpecification("${ALL}#name=b", secrets: secrets).address.kind.name == OutputKind.rtmp.name)
        let failure = #expect(throws: OutputSpecificationError.self) {
            try OutputSpecification("srt://host:9000?passphrase=${MISSING}", secrets: secrets)
        }
        #expect(failure?.description.contains("MISSING") == true)
    }

    @Test("An input with a secret is printed with the reference instead of the secret")
    func inputs() throws {
        let path = try file("topsecret\n")
        let input = try InputSpecification("https://host/${file:\(path)}/x.m3u8").location
        #expect(!input.description.contains("topsecret") && input.description.hasPrefix("https://host/${file:"))
    }
}
