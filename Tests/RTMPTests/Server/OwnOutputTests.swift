// SPDX-License-Identifier: Apache-2.0

import Glibc
import Media
import PacketSamples
import Synchronization
import TestSupport
import Testing

@testable import Networking
@testable import RTMP

/// librtmp, as our outputs use it, connected to our own server.
@Suite("relay's RTMP outputs connected to relay's RTMP server")
struct OwnOutputTests {
    private let server = RTMPServer()
    private let record = StreamRecord()

    private func registration() throws -> RTMPServer.Registration {
        var url = try RTMPListenURL("rtmp-listen://127.0.0.1/live/secret?takeover=yes", for: .input)
        url.port = 0
        return try server.receive(url, receiver: record)
    }

    /// Publishes `key` and sends some frames, on its own thread, because librtmp blocks. Returns the failure.
    private func publish(_ key: String, to port: UInt16, frames: Int64) async throws -> OutputFailure? {
        let url = try RTMPURL("rtmp://127.0.0.1:\(port)/live/\(key)")
        let address = try #require(HostAddress(literal: "127.0.0.1", port: port))
        return await withCheckedContinuation { continuation in
            _ = BlockingWork.start("test.output") {
                do throws(OutputFailure) {
                    let socket = try TCPSocket.connect(
                        to: [address], name: "server", within: .seconds(5), opened: { _ in true })
                    socket.setBlocking(timeout: .seconds(10))
                    let session = try RTMPSession(url: url, login: "", socket: socket)
                    try session.connect()
                    try session.publish()
                    Self.send(frames, over: socket, session.handOver())
                    continuation.resume(returning: nil)
                } catch {
                    continuation.resume(returning: error)
                }
            }
        }
    }

    private static func send(_ frames: Int64, over socket: TCPSocket, _ handover: RTMPSession.Handover) {
        var (buffer, timeline) = (OutboundBuffer(), RTMPTimeline())
        var chunks = RTMPChunkWriter(streamID: handover.streamID)
        for message in RTMPHeaders.messages(for: Samples.description) { chunks.append(message, to: &buffer) }
        for index in 0..<frames {
            // Some frames are larger than a chunk.
            let frame = Samples.video(pts: index + 2, dts: index, isKeyframe: index == 0, bytes: Int(index) * 9000 + 1)
            chunks.append(timeline.message(for: frame), to: &buffer)
        }
        for message in RTMPHeaders.teardown(playPath: "secret", streamID: handover.streamID) {
            chunks.append(message, to: &buffer)
        }
        while !buffer.isEmpty {
            switch socket.send(buffer) {
            case .bytes(let count): _ = buffer.consume(count)
            case .wouldBlock: continue
            default: return
            }
        }
        socket.shutDown(CInt(SHUT_WR))
    }

    @Test("An RTMP output with Enhanced RTMP announces it and gets the server's codecs; other outputs do neither")
    func enhanced() async throws {
        let registration = try registration()
        let url = try RTMPURL("rtmp://127.0.0.1:\(registration.port)/live/secret")
        let address = try #require(HostAddress(literal: "127.0.0.1", port: registration.port))
        let hevc = TrackDescription(
            video: .hevc, frames: FrameFormat(width: 320, height: 180), timeBase: .milliseconds,
            decoderConfiguration: SharedBytes([1]))
        for isEnhanced in [true, false] {
            let capabilities: RTMPCapabilities? = await withCheckedContinuation { continuation in
                _ = BlockingWork.start("test.output") {
                    do throws(OutputFailure) {
                        let socket = try TCPSocket.connect(
                            to: [address], name: "server", within: .seconds(5), opened: { _ in true })
                        socket.setBlocking(timeout: .seconds(10))
                        let session = try RTMPSession(url: url, login: "", socket: socket, isEnhanced: isEnhanced)
                        try session.connect()
                        continuation.resume(returning: session.capabilities)
                    } catch {
                        continuation.resume(returning: nil)
                    }
                }
            }
            let known = try #require(capabilities)
            #expect(known.isEnhanced == isEnhanced)
            #expect(known.unknownCodecs(of: StreamDescription(video: hevc, audio: nil)).isEmpty)
        }
        let other = RTMPCapabilities(connect: .object(["fourCcList": .array([.string("av01")])]))
        #expect(other.unknownCodecs(of: StreamDescription(video: hevc, audio: Samples.audioTrack)) == [.hevc])
    }

    @Test("relay's RTMP server receives an output's headers, metadata, all frames, and the end of the stream")
    func publishes() async throws {
        let registration = try registration()
        #expect(try await publish("secret", to: registration.port, frames: 20) == nil)
        try await eventually { record.log.count == 2 }
        #expect(record.log == ["began 1", "ended 1: the client ended it"])
        // Metadata and two configurations come first.
        #expect(record.times.count == 23)
        let bytes = record.state.withLock { $0.bytes }
        #expect(bytes == 190 * 9000 + 20)
    }

    @Test("An RTMP output that publishes with a wrong key fails permanently")
    func refused() async throws {
        let registration = try registration()
        let failure = try #require(try await publish("wrong", to: registration.port, frames: 0))
        #expect(failure.kind == .refused && failure.step == "publish")
        #expect(record.log.isEmpty)
    }
}
