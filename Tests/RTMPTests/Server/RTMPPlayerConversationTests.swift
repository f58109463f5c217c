// SPDX-License-Identifier: Apache-2.0

import Media
import PacketSamples
import Testing

@testable import RTMP

@Suite("What a player is told and says")
struct RTMPPlayerConversationTests {
    @Test("A player is told of the stream itself, a server what it should keep for players")
    func metadata() throws {
        for isForPlayer in [true, false] {
            let message = try #require(RTMPHeaders.messages(for: Samples.description, isForPlayer: isForPlayer).first)
            let first = AMF0Reader.values(message.payload.array).first
            #expect(first == .string(isForPlayer ? "onMetaData" : "@setDataFrame"))
        }
    }

    @Test("A player's wishes are reported, in order, and the answers of servers are not wishes")
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

    @Test("At the end a player is told in all the words that players wait for")
    func end() {
        let messages = RTMPHeaders.playEnd(streamID: 3)
        #expect(messages.first?.payload.array == [0, 1, 0, 0, 0, 3])
        let codes = messages.dropFirst().map { AMF0Reader.values($0.payload.array).last?.text("code") }
        #expect(codes == ["NetStream.Play.UnpublishNotify", "NetStream.Play.Stop"])
    }
}
