// SPDX-License-Identifier: Apache-2.0

import Media
import Networking
import Testing

@testable import RTMP

@Suite struct RTMPLoginTests {
    private let name = "[ AccessManager.Reject ] : [ code=403 need auth; authmod=adobe ] : "

    private func note(_ text: String) throws -> RTMPStatusMessage {
        var writer = AMF0Writer()
        writer.write("_error")
        writer.write(1)
        writer.writeNull()
        writer.writeObject([
            ("level", .string("error")), ("code", .string("NetConnection.Connect.Rejected")),
            ("description", .string(text)),
        ])
        return try #require(RTMPStatusMessage(command: writer.bytes))
    }

    private func login(_ url: String = "rtmp://bob:hunter22@h/live/key") throws -> RTMPLogin {
        RTMPLogin(url: try RTMPURL(url), nonce: { "0badcafe" })
    }

    /// Python's hashlib computed the expected responses.
    @Test(
        "Adobe's RTMP login challenge is answered with the salted digest",
        arguments: [
            ("&opaque=OPAQUE==", "response=e3KJYqof03x0fQfyPXI1iQ==&opaque=OPAQUE=="),
            ("", "response=VEj6BI+A5mSrzXGJqBcEMA=="),
        ])
    func adobe(opaque: String, response: String) throws {
        var login = try login()
        #expect(try login.answer(to: note(name)) == "?authmod=adobe&user=bob")
        let question = "[ AccessManager.Reject ] : [ authmod=adobe ] : ?reason=needauth&user=bob&salt=SALT=="
        let answer = try login.answer(to: note("\(question)&challenge=CHAL==\(opaque)"))
        #expect(answer == "?authmod=adobe&user=bob&challenge=0badcafe&\(response)")
    }

    @Test(
        "Limelight's RTMP login challenge is answered as in HTTP digest authentication",
        arguments: [
            ("live", "e1cc789d2fc5d6e1100ec2352c55f690"), ("live/inst", "60629fbb9ecdbdd060f7ca33900c027e"),
        ])
    func limelight(app: String, response: String) throws {
        var login = try login("rtmp://bob:hunter22@h/\(app)/key")
        #expect(
            try login.answer(to: note("[ code=403 need auth; authmod=llnw ]")) == "?authmod=llnw&user=bob")
        let answer = try login.answer(to: note("[ authmod=llnw ] : ?reason=needauth&user=bob&nonce=NONCE"))
        #expect(answer == "?authmod=llnw&user=bob&nonce=NONCE&cnonce=0badcafe&nc=00000001&response=\(response)")
    }

    @Test("A server's message that is not a login challenge is not answered")
    func others() throws {
        var login = try login()
        #expect(try login.answer(to: note("Application not found")) == nil)
        #expect(try login.answer(to: note("authmod=adobe is what we use")) == nil)
    }

    @Test(
        "A wrong user or password for RTMP is a permanent failure, and the message shows neither",
        arguments: [
            ["[ authmod=adobe ] : ?reason=authfailed&opaque=x"], ["[ authmod=llnw ] : ?reason=nosuchuser"],
            ["[ code=403 need auth; authmod=adobe ]", "[ code=403 need auth; authmod=adobe ]"],
            ["[ authmod=adobe ] : ?reason=needauth&salt=a", "[ authmod=adobe ] : ?reason=needauth&salt=a"],
        ])
    func wrong(texts: [String]) throws {
        var login = try login()
        for text in texts.dropLast() { #expect(try login.answer(to: note(text)) != nil) }
        let last = try note(try #require(texts.last))
        let error = #expect(throws: OutputFailure.self) { try login.answer(to: last) }
        #expect(error?.kind == .refused)
        #expect(error?.reason.contains("hunter22") == false && error?.reason.contains("bob") == false)
    }

    @Test("If an RTMP server requests a login and the address has no user, the error says that")
    func missing() throws {
        var login = try login("rtmp://h/live/key")
        let question = try note(name)
        let error = #expect(throws: OutputFailure.self) { try login.answer(to: question) }
        #expect(error?.kind == .refused)
        #expect(error?.reason.contains("user and a password") == true)
    }
}
