// SPDX-License-Identifier: Apache-2.0

import Media
import PacketSamples
import Testing

@testable import RTMP

@Suite("Messages between server and player")
struct RTMPPlayerConversationTests {
    @Test("A player gets the stream's metadata as onMetaData, and a server gets it as @setDataFrame")
    func metadata() throws {
        for isForPlayer in [true, false] {
            let message = try #require(RTMPHeaders.messages(for: Samples.description, isForPlayer: isForPlayer).first)
            let first = AMF0Reader.values(message.payload.array).first
            #expect(first == .string(isForPlayer ? "onMetaData" : "@setDataFrame"))
        }
    }

    @Test("A player's commands are reported in order, and its command _result is not reported")
    func wishes() {
        var channel = RTMPBackChannel(parser: RTMPInboundParser())
        let bytes =
            ClientBytes.command("pause", 0, [.null, .boolean(true), .number(5)], stream: 1)
            + ClientBytes.command("pause", 0, [.null, .boolean(false), .number(5)], stream: 1)
            + ClientBytes.command("receiveVideo", 0, [.null, .boolean(false)], stream: 1)
            + ClientBytes.command("receiveAudio", 0, [.null, .boolean(true)], stream: 1)
            + ClientBytes.command("_result", 2, [.null, .number(1)])
            + ClientBytes.command("deleteStream", 0, [.null, .number(1)])
        #expect(channel.take(bytes).wishes == [.pause(true), .pause(false), .video(false), .audio(true), .stop])
    }

    @Test(
        "A command that names another stream does not end the one that is played",
        arguments: [
            (ClientBytes.command("deleteStream", 7, [.null, .number(7)]), false),
            (ClientBytes.command("deleteStream", 7, [.null, .string("other")]), false),
            (ClientBytes.command("closeStream", 0, [.null], stream: 2), false),
            (ClientBytes.command("FCUnpublish", 6, [.null, .string("other")]), false),
            (ClientBytes.command("deleteStream", 7, [.null, .number(1)]), true),
            (ClientBytes.command("deleteStream", 7, [.null, .string("program?token=2")]), true),
            (ClientBytes.command("deleteStream", 7, [.null]), true),
            (ClientBytes.command("closeStream", 0, [.null], stream: 1), true),
            (ClientBytes.command("closeStream", 0, [.null]), true),
        ])
    func otherStream(command: [UInt8], isEnd: Bool) {
        var channel = RTMPBackChannel(
            parser: RTMPInboundParser(), running: RTMPRunningStream(id: 1, name: "program"))
        #expect(channel.take(command).wishes == (isEnd ? [.stop] : []))
    }

    @Test("At the end of the stream an RTMP player gets all the messages that players expect")
    func end() {
        let messages = RTMPHeaders.playEnd(streamID: 3)
        #expect(messages.first?.payload.array == [0, 1, 0, 0, 0, 3])
        let codes = messages.dropFirst().map { AMF0Reader.values($0.payload.array).last?.text("code") }
        #expect(codes == ["NetStream.Play.UnpublishNotify", "NetStream.Play.Stop"])
    }
}
