// SPDX-License-Identifier: Apache-2.0

import Foundation
import Media
import Synchronization
import TestSupport
import Testing

@testable import Channel
@testable import RTMP

@Suite("HTTP servers that accept or refuse RTMP clients")
struct ClientHookTests {
    private final class Notices: Sendable {
        private let all = Mutex<[String]>([])
        func note(_ text: String) { all.withLock { $0.append(text) } }
        var texts: [String] { all.withLock { $0 } }
    }

    private let notices = Notices()

    private func request(_ name: String, _ action: RTMPStreamRequest.Action = .publish) -> RTMPStreamRequest {
        RTMPStreamRequest(action, app: "live", name: name, client: "test/1", capabilities: RTMPCapabilities())
    }

    /// Returns the closure that asks the server at `address` about clients of the channel `news`, made from the flag's
    /// value.
    private func hook(_ address: String) throws -> RTMPAuthorization {
        try ClientDecision(address, of: "--on-publish").authorization(channel: "news") { [notices] in notices.note($0) }
    }

    /// An address at `server` that is full of secrets.
    private func address(of server: HookServer) -> String {
        "http://relay:topsecret@127.0.0.1:\(server.port)/topsecret?token=topsecret"
    }

    @Test("A server that decides about clients gets one POST at its configured path, with the client's data as JSON")
    func asks() async throws {
        let server = try HookServer { _ in HookServer.status(200) }
        let hook = try hook(address(of: server))
        let isAllowed = await hook(request("key?token=a b\"\\ü", .play), "192.0.2.7")
        #expect(isAllowed)
        let asked = try #require(server.requests.first)
        #expect(server.requests.count == 1 && notices.texts.isEmpty)
        #expect(asked.head.hasPrefix("POST /topsecret?token=topsecret HTTP/1.1\r\n"))
        let lines = asked.head.split(separator: "\r\n").map { $0.lowercased() }
        #expect(lines.contains("content-type: application/json"))
        let user = Data("relay:topsecret".utf8).base64EncodedString().lowercased()
        #expect(lines.contains("authorization: basic \(user)"))
        #expect(
            asked.facts == [
                "event": "play", "channel": "news", "address": "192.0.2.7", "app": "live", "stream": "key",
                "query": "token=a b\"\\ü", "client": "test/1",
            ])
    }

    @Test("A decision server's status from 200 to 299 allows the client; any other refuses the client and is logged")
    func statuses() async throws {
        var random = SeededRandom()
        let server = try HookServer { HookServer.status(Int($0.facts["stream"] ?? "") ?? 500) }
        let hook = try hook(address(of: server))
        var refused = 0
        for status in [200, 299, 300, 403] + (0..<60).map({ _ in Int.random(in: 200...599, using: &random) }) {
            let isAllowed = await hook(request("\(status)"), "192.0.2.7")
            #expect(isAllowed == (200...299).contains(status), "\(status)")
            if isAllowed { continue }
            refused += 1
            let reason = "127.0.0.1:\(server.port) answers with \(status)"
            #expect(notices.texts.last == "A client at 192.0.2.7 may not publish: \(reason).")
        }
        #expect(notices.texts.count == refused)
    }

    @Test("If a decision server redirects, the client is refused, and the redirect is not followed")
    func redirection() async throws {
        let server = try HookServer { request in
            let isFirst = request.head.hasPrefix("POST /first ")
            return isFirst ? HookServer.status(307, "Location: /elsewhere") : HookServer.status(200)
        }
        let hook = try hook("http://127.0.0.1:\(server.port)/first")
        let isAllowed = await hook(request("key"), "192.0.2.7")
        #expect(!isAllowed && server.requests.count == 1 && notices.texts.count == 1)
    }

    @Test("A decision server whose port is closed refuses the client, and the logged reason contains no secret")
    func closedPort() async throws {
        let server = try HookServer(open: false) { _ in nil }
        let hook = try hook(address(of: server))
        let isAllowed = await hook(request("topsecret"), "192.0.2.7")
        #expect(!isAllowed)
        let notice = try #require(notices.texts.first)
        #expect(notice.hasPrefix("A client at 192.0.2.7 may not publish: 127.0.0.1:\(server.port): "))
        #expect(notices.texts.count == 1 && !notice.contains("topsecret"))
    }

    /// Answers that are empty, incomplete, random or of other protocols, and some that differ from a valid one in a
    /// byte.
    private func garbage(_ random: inout SeededRandom) -> [[UInt8]] {
        let texts = ["", "\r\n\r\n", "220 mail ESMTP\r\n", "HTTP/1.1", "HTTP/1.1 200", "HTTP/1.1 topsecret\r\n\r\n"]
        var answers = texts.map { Array($0.utf8) }
        // A fatal alert of TLS.
        answers.append([0x15, 3, 1, 0, 2, 2, 40])
        for _ in 0..<40 {
            let count = Int.random(in: 1...300, using: &random)
            answers.append((0..<count).map { _ in UInt8.random(in: 0...255, using: &random) })
            var almost = HookServer.status(200)
            let places = [0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11]
            let place = places[Int.random(in: places.indices, using: &random)]
            almost[place] = UInt8.random(in: 33...126, using: &random)
            answers.append(almost)
        }
        return answers
    }

    @Test("A decision server's invalid or incomplete response refuses the client, and the log contains no secret")
    func nonsense() async throws {
        var random = SeededRandom()
        let answers = garbage(&random)
        let server = try HookServer { answers[Int($0.facts["query"] ?? "") ?? 0] }
        let hook = try hook(address(of: server))
        for (number, bytes) in answers.enumerated() {
            let before = notices.texts.count
            let isAllowed = await hook(request("topsecret?\(number)"), "192.0.2.7")
            let text = String(decoding: bytes, as: UTF8.self)
            let allows = text.prefixMatch(of: #/HTTP/[0-9]\.[0-9] 2[0-9][0-9] /#) != nil
            #expect(!isAllowed || allows, "\(bytes)")
            #expect(notices.texts.count == (isAllowed ? before : before + 1), "\(bytes)")
        }
        #expect(server.requests.count == answers.count && !notices.texts.joined().contains("topsecret"))
    }

    @Test("If a client leaves while the decision server is silent, the client is refused and the server disconnected")
    func silence() async throws {
        let server = try HookServer { _ in nil }
        let hook = try hook(address(of: server))
        let request = request("topsecret")
        let asked = Task { await hook(request, "192.0.2.7") }
        try await eventually("the server is asked") { server.requests.count == 1 }
        asked.cancel()
        #expect(await asked.value == false)
        try await eventually("the connection is closed") { server.leavers == 1 }
        #expect(!notices.texts.joined().contains("topsecret"))
    }

    @Test("Each of many concurrent clients gets the decision server's response to its own request")
    func atOnce() async throws {
        let server = try HookServer { HookServer.status($0.facts["stream"]?.hasPrefix("good") == true ? 204 : 403) }
        let hook = try hook(address(of: server))
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<40 {
                let isGood = number.isMultiple(of: 2)
                let request = request("\(isGood ? "good" : "bad")\(number)")
                group.addTask {
                    let isAllowed = await hook(request, "192.0.2.\(number)")
                    #expect(isAllowed == isGood, "\(number)")
                }
            }
        }
        #expect(server.requests.count == 40)
        let refused = (0..<40).filter { number in
            notices.texts.contains { $0.hasPrefix("A client at 192.0.2.\(number) may not publish") }
        }
        #expect(refused == (0..<40).filter { !$0.isMultiple(of: 2) })
    }
}

@Suite("Parsing of the program or server that accepts or refuses clients")
struct ClientDecisionTests {
    private let secrets = SecretReferences { ["TOKEN": "topsecret", "SPACE": "top secret", "MARK": "top#secret"][$0] }

    /// The sentence with which `text` is refused; empty if it is not.
    private func fault(_ text: String) -> String {
        do throws(TextFailure) {
            _ = try ClientDecision(text, of: "--on-play", secrets: secrets)
            return ""
        } catch {
            return error.description
        }
    }

    @Test("The address of a decision server may contain references to secrets, and upper case in its scheme")
    func addresses() throws {
        let meant = try ClientDecision("http://u:topsecret@host:81/a?b=topsecret", of: "--on-play")
        #expect(
            try ClientDecision("HTTP://u:${TOKEN}@host:81/a?b=${TOKEN}", of: "--on-play", secrets: secrets) == meant)
        #expect(try ClientDecision("http://u:${TOKEN}@host/a", of: "--on-play", secrets: secrets) != meant)
        let isServer = if case .server = meant { true } else { false }
        #expect(isServer)
    }

    @Test("A program that decides about clients must be executable, and ${} in its path is not replaced")
    func programs() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("decide-${TOKEN}:x")
        #expect(fault(path).contains(path))
        try directory.write("#!/bin/sh\n".utf8, to: "decide-${TOKEN}:x")
        for (mode, isProgram) in [(0o600, false), (0o700, true), (0o755, true), (0o644, false)] {
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
            let sentence = fault(path)
            #expect(sentence.isEmpty == isProgram, "\(String(mode, radix: 8)): \(sentence)")
            if isProgram {
                #expect(try ClientDecision(path, of: "--on-play", secrets: secrets) == .program(path))
            } else {
                #expect(sentence.hasPrefix("--on-play takes the path of a program"))
            }
        }
        for text in ["", directory.path, "/dev/null", directory.path("gone")] {
            #expect(fault(text).hasPrefix("--on-play takes the path of a program"), "\(text)")
        }
    }

    @Test(
        "An invalid address of a decision server is refused with the reason, without parts that may be secret",
        arguments: [
            ("http://", "names no host"), ("https:/host/topsecret", "no scheme"), ("https:topsecret", "no scheme"),
            ("https://u:topsecret@host:99999/a", "bad port"), ("http://[::1/topsecret", "closing bracket"),
            ("https://host/topsecret#part", "written with %"), ("https://host/töpsecret-topsecret", "written with %"),
            ("https://host/topsecret and more", "space"), ("http://host/${GONE}/topsecret", "GONE is not set"),
            ("http://host/${topsecret-1}", "name of a variable"), ("http://host/${TOKEN", "no }"),
            ("http://host/${SPACE}", "space"), ("http://host/${MARK}", "written with %"),
        ])
    func faults(text: String, word: String) {
        let sentence = fault(text)
        #expect(sentence.hasPrefix("--on-play is not usable: ") && sentence.contains(word), "\(sentence)")
        #expect(!sentence.contains("topsecret") && !sentence.contains("top secret") && !sentence.contains("top#secret"))
    }

    @Test(
        "An address of a decision server with a mistyped scheme is refused without repeating its password",
        arguments: ["htps://relay:topsecret@host/may-publish", " https://relay:topsecret@host/may-publish"])
    func mistypedScheme(text: String) {
        let sentence = fault(text)
        #expect(sentence.hasPrefix("--on-play") && !sentence.contains("topsecret"), "\(sentence)")
    }
}
