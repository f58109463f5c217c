// SPDX-License-Identifier: Apache-2.0

import Media
import Networking
import Testing

@testable import RTMP

@Suite struct RTMPStatusMessageTests {
    private func note(
        _ name: String, _ transaction: Double, _ fields: [(String, String)]
    ) throws -> RTMPStatusMessage {
        var writer = AMF0Writer()
        writer.write(name)
        writer.write(transaction)
        writer.writeNull()
        writer.writeObject(fields.map { ($0.0, AMF0Value.string($0.1)) })
        return try #require(RTMPStatusMessage(command: writer.bytes))
    }

    /// Messages of nginx-rtmp, Node-Media-Server, SRS, Wowza and Kaltura, of Adobe's AccessManager, and a text proposed
    /// for MediaMTX (its issue 5657).
    @Test(
        "An RTMP server's refusal of the key is permanent, and its refusal of a stream name in use is not",
        arguments: [
            ("NetStream.Publish.BadName", "Already publishing", OutputFailure.Kind.rejected),
            ("NetStream.Publish.BadName", "Stream already publishing", .rejected),
            ("NetStream.Publish.BadName", "Stream name is already in use: stream key x", .rejected),
            ("NetStream.Publish.BadName", "", .rejected),
            ("NetConnection.Connect.Rejected", "Already publishing", .rejected),
            ("NetConnection.Connect.Rejected", "", .rejected),
            ("NetStream.Publish.Denied", "", .refused),
            ("NetStream.Publish.Denied", "Invalid stream key", .refused),
            ("NetStream.Publish.Unauthorized", "Authentication failed: invalid stream key", .refused),
            (
                "NetConnection.Connect.Rejected", "[ AccessManager.Reject ] : [ code=403 need auth; authmod=adobe ]",
                .refused
            ),
            ("NetConnection.Connect.Rejected", "Invalid authorized key", .refused),
            ("NetConnection.Connect.InvalidApp", "Application not found", .refused),
            ("NetConnection.Connect.Rejected", "publisher is not allowed to publish this stream", .refused),
        ])
    func refusals(code: String, text: String, kind: OutputFailure.Kind) throws {
        let message = try note("_error", 1, [("level", "error"), ("code", code), ("description", text)])
        #expect(message.isError)
        #expect(message.failureKind == kind)
    }

    @Test("An error response to an optional RTMP command is ignored; an error response to publish is a failure")
    func errors() throws {
        #expect(try note("_error", 2, [("code", "NetConnection.Call.Failed")]).isError == false)
        #expect(try note("_error", 5, [("code", "NetStream.Publish.BadName")]).isError)
        #expect(try note("close", 0, []).isError)
        #expect(try note("onStatus", 0, [("level", "status"), ("code", "NetStream.Publish.Start")]).isError == false)
    }

    @Test(
        "An RTMP server's reconnect request is parsed, with and without an address",
        arguments: ["rtmp://b/live", nil])
    func reconnectRequest(address: String?) throws {
        var fields = [("level", "status"), ("code", "NetConnection.Connect.ReconnectRequest")]
        if let address { fields.append(("tcUrl", address)) }
        let message = try note("onStatus", 0, fields)
        #expect(message.isReconnectRequest && !message.isError)
        #expect(message.address == address)
    }

    @Test("The RTMP connect command announces support for reconnect requests")
    func connectCommand() throws {
        let command = RTMPConnectCommand(app: "live?x=1", target: "rtmps://h/live?x=1")
        let values = AMF0Reader.values(command.bytes)
        #expect(values.count == 3)
        #expect(values.prefix(2) == [.string("connect"), .number(1)])
        #expect(values[2].text("app") == "live?x=1")
        #expect(values[2].text("tcUrl") == "rtmps://h/live?x=1")
        guard case .object(let properties) = values[2] else { return }
        #expect(properties["capsEx"] == .number(1))
    }

    @Test(
        "An RTMP error status that does not concern publishing does not end a live stream",
        arguments: [
            ("NetStream.Record.Failed", false), ("NetStream.Play.Failed", false), ("NetStream.Failed", false),
            ("NetStream.Publish.Denied", true), ("NetStream.Publish.BadName", true),
            ("NetConnection.Connect.Closed", true),
        ])
    func ofPublishing(code: String, ends: Bool) throws {
        let message = try note("onStatus", 0, [("level", "error"), ("code", code)])
        #expect(message.endsPublishing == ends)
        #expect(try !note("onStatus", 0, [("level", "status"), ("code", code)]).endsPublishing)
        #expect(try note("_error", 5, [("level", "error"), ("code", code)]).endsPublishing)
    }

    @Test("No part of the key is shown of a long message that repeats the key")
    func masksCutKeys() throws {
        let key = (10..<60).map(String.init).joined()
        let url = try RTMPURL("rtmp://host/live/\(key)")
        let message = try note(
            "onStatus", 0, [("code", "A"), ("description", String(repeating: key, count: 60))])
        #expect(message.words(masking: url).allSatisfy { !$0.isNumber })
        let short = try note("onStatus", 0, [("code", "A"), ("description", "no \(key) here")])
        #expect(short.words(masking: url) == "A: no *** here")
    }

    @Test("If the server cannot record the stream, publishing continues")
    func ofRecording() throws {
        #expect(try !note("onStatus", 5, [("level", "error"), ("code", "NetStream.Record.NoAccess")]).isError)
        #expect(try note("onStatus", 5, [("level", "error"), ("code", "Anything.Else")]).isError)
    }
}
