// SPDX-License-Identifier: Apache-2.0

import Foundation
import HLS
import Media
import SRT
import TestSupport
import Testing

@testable import FanOut
@testable import Publisher
@testable import RTMP

/// Tests which outputs wait for an output that was removed, because both need the same directory or port.
@Suite("Outputs that wait for a removed output")
struct OutputPlaceTests {
    /// Whether `next` waits for the removed output `old`, which still has or has not closed its listening socket.
    private func waits(
        _ next: any OutputTarget, for old: any OutputTarget, hasStoppedListening: Bool = false
    ) throws -> Bool {
        let place = (old: try #require(old.place), next: try #require(next.place))
        guard !place.old.excludes(place.next, hasStoppedListening: hasStoppedListening) else { return true }
        guard let real = old.realPlace, let wanted = next.realPlace else { return false }
        #expect(old.hasRealPlace && next.hasRealPlace)
        return real.excludes(wanted, hasStoppedListening: hasStoppedListening)
    }

    @Test("An HLS output waits for a removed one in the same directory until that has ended, and for no other")
    func directories() throws {
        let target = { (path: String) in HLSTarget(location: try HLSLocation("hls:\(path)"), name: "hls") }
        let (old, next) = (try target("/tmp/live"), try target("/tmp/live/"))
        #expect(try waits(next, for: old))
        #expect(try waits(next, for: old, hasStoppedListening: true))
        #expect(try !waits(target("/tmp/live/part"), for: old))
    }

    @Test("An HLS output waits for a removed one in the same directory, however the directory's path is written")
    func spellings() throws {
        let temporary = try TemporaryDirectory()
        let (directory, link) = (temporary.path("live"), temporary.path("link"))
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: directory)
        let target = { (path: String) in HLSTarget(location: try HLSLocation("hls:\(path)"), name: "hls") }
        let old = try target(directory)
        for path in ["\(directory)/", temporary.path("./live"), temporary.path("live/../live"), link] {
            #expect(try waits(target(path), for: old), "\(path)")
        }
        #expect(try !waits(target(temporary.path("other")), for: old))
        // The first of two outputs creates the directory that both name.
        let missing = try target(temporary.path("new"))
        try FileManager.default.createDirectory(atPath: temporary.path("new"), withIntermediateDirectories: false)
        #expect(try waits(target("\(link)/../new"), for: missing))
    }

    @Test("If the link to an HLS directory changes, the place is the directory that the link means when it is opened")
    func changedLink() throws {
        let temporary = try TemporaryDirectory()
        let (first, second, link) = (temporary.path("first"), temporary.path("second"), temporary.path("link"))
        for path in [first, second] {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        }
        func point(at path: String) throws {
            try? FileManager.default.removeItem(atPath: link)
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
        }
        let target = { (path: String) in HLSTarget(location: try HLSLocation("hls:\(path)"), name: "hls") }
        try point(at: first)
        let old = try target(link)
        try point(at: second)
        #expect(try waits(target(second), for: old) && !waits(target(first), for: old))
        let events = EventLog()
        let attempt = old.makeAttempt(
            queue: PacketQueue(limits: .live, isFromStart: true),
            description: TransportStreamTests.description(FrameRate(30)), report: { [events] in events.note($0) })
        attempt.start()
        try eventually("the directory is open") { events.isAccepted }
        try point(at: first)
        #expect(try waits(target(second), for: old) && !waits(target(first), for: old))
        #expect(try waits(target(link), for: old), "the text alone is the same place, too")
        attempt.abandon()
    }

    @Test("An SRT output that listens waits until a removed one has closed the port that both need")
    func srtPorts() throws {
        let target = { (address: String) in SRTTarget(url: try SRTURL("srt://\(address)"), name: "srt") }
        let old = try target("127.0.0.1:9000?mode=listener&latency=200")
        let next = try target("127.0.0.1:9000?mode=listener&latency=400")
        #expect(try waits(next, for: old))
        #expect(try !waits(next, for: old, hasStoppedListening: true))
        // libsrt cannot share the old UDP socket with a listener at another local address.
        let other = try target("0.0.0.0:9000?mode=listener")
        #expect(try waits(other, for: old, hasStoppedListening: true))
        #expect(try !waits(target("127.0.0.1:9001?mode=listener"), for: old))
        #expect(try target("127.0.0.1:9000").place == nil, "a caller needs no port of its own")
    }

    @Test("An RTMP output for players waits only for a removed one at another local address of its port")
    func rtmpPorts() throws {
        let target = { (address: String) in
            var url = try RTMPListenURL("rtmp-listen://\(address)", for: .output)
            url.port = 0
            return RTMPListenTarget(
                offer: try RTMPOffer(url, server: RTMPServer()), name: "players", pool: RTMPWriterPool(),
                stream: PacketStream())
        }
        let old = try target("127.0.0.1/live/program")
        let (same, other) = (try target("127.0.0.1/live/program"), try target("0.0.0.0/live/program"))
        #expect(try !waits(same, for: old))
        #expect(try waits(other, for: old))
        #expect(try !waits(other, for: old, hasStoppedListening: true))
        for target in [old, same, other] { target.leave() }
    }
}
