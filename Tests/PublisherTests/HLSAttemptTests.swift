// SPDX-License-Identifier: Apache-2.0

import FanOut
import Foundation
import HLS
import Media
import PacketSamples
import TestSupport
import Testing

@testable import Publisher

/// Tests how an HLS attempt handles the reason of its end.
@Suite struct HLSAttemptTests {
    private let path = NSTemporaryDirectory() + "relay-hls-\(UUID().uuidString)"

    @Test(
        "The playlist is closed at the program's end, and stays open when the HLS output is paused or replaced",
        arguments: [(EndReason.programOver, true), (.interrupted, false)])
    func reasons(reason: EndReason, isClosed: Bool) async throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        let packets = PacketQueue(limits: .live, isFromStart: true)
        for index in Int64(0)..<60 {
            _ = packets.push(Samples.video(pts: index, dts: index, isKeyframe: index % 30 == 0))
        }
        let target = HLSTarget(
            location: try HLSLocation("hls:\(path)"), options: try HLSOptions(["segment": "1s"]), name: "test")
        let (events, continuation) = AsyncStream.makeStream(of: AttemptEvent.self)
        let attempt = target.makeAttempt(queue: packets, description: Samples.description) { continuation.yield($0) }
        attempt.start()
        var isDrained = false
        for await event in events {
            if case .accepted = event {
                _ = packets.connected()
                attempt.goLive()
                attempt.drain(until: .distantFuture, reason: reason)
            }
            if case .drained = event { isDrained = true }
            if case .failed(let failure) = event { Issue.record("\(failure)") }
            if case .drained = event { break }
            if case .failed = event { break }
        }
        #expect(isDrained)
        let text = try String(contentsOfFile: "\(path)/index.m3u8", encoding: .utf8)
        #expect(text.split(separator: "\n").count { $0.hasSuffix(".m4s") } == 2)
        #expect(text.contains("#EXT-X-ENDLIST") == isClosed)
    }

    @Test(
        "If an HLS output is paused or waits to retry at the program's end, at most the playlist's end is written",
        arguments: [("program", true), ("always", true), ("never", false)])
    func conclusion(endList: String, isClosed: Bool) async throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        let playlist = """
            #EXTM3U
            #EXT-X-VERSION:7
            #EXT-X-TARGETDURATION:1
            #EXT-X-MEDIA-SEQUENCE:7
            #EXT-X-INDEPENDENT-SEGMENTS
            #EXT-X-MAP:URI="relay-1-init.mp4"
            #EXT-X-PROGRAM-DATE-TIME:2026-11-22T06:00:00.000Z
            #EXTINF:1.000000,
            relay-1-7.m4s

            """
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        try playlist.write(toFile: "\(path)/index.m3u8", atomically: true, encoding: .utf8)
        let target = HLSTarget(
            location: try HLSLocation("hls:\(path)"), options: try HLSOptions(["endlist": endList]), name: "test")
        let failure = await withCheckedContinuation { done in target.conclude { done.resume(returning: $0) } }
        #expect(failure == nil)
        let text = try String(contentsOfFile: "\(path)/index.m3u8", encoding: .utf8)
        #expect(text.contains("relay-1-7.m4s") && text.contains("#EXT-X-MEDIA-SEQUENCE:7"))
        #expect(text.hasSuffix("#EXT-X-ENDLIST\n") == isClosed)
        #expect(try FileManager.default.contentsOfDirectory(atPath: path) == ["index.m3u8"])
    }

    private func attempt(_ path: String, _ events: EventLog) throws -> any OutputAttempt {
        let target = HLSTarget(
            location: try HLSLocation("hls:\(path)"), options: try HLSOptions(["segment": "1s"]), name: "test")
        let packets = PacketQueue(limits: .live, isFromStart: true)
        return target.makeAttempt(queue: packets, description: Samples.description) { events.note($0) }
    }

    @Test("A missing parent of an HLS directory is a temporary failure, and the error names the directory")
    func unreachable() throws {
        let events = EventLog()
        let attempt = try attempt(path + "/a/b", events)
        attempt.start()
        try eventually { events.failure != nil }
        #expect(events.failure?.kind == .unreachable && events.failure?.step == "open")
        #expect(events.failure?.reason.contains(path) == true)
    }

    @Test("An HLS directory that another output writes to is refused")
    func taken() throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        let (events, others) = (EventLog(), EventLog())
        let (first, second) = (try attempt(path, events), try attempt(path, others))
        first.start()
        try eventually { events.isAccepted }
        second.start()
        try eventually { others.failure != nil }
        #expect(others.failure?.kind == .rejected)
        first.abandon()
        #expect(events.failure == nil && !events.isDrained)
    }

    @Test(
        "Frames that an HLS output has taken and not yet published in a segment are reported as waiting",
        arguments: [("6s", 0, 45), ("1s", 30, 15)])
    func waitingFrames(segment: String, written: UInt64, waiting: Int) throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        let events = EventLog()
        let target = HLSTarget(
            location: try HLSLocation("hls:\(path)"), options: try HLSOptions(["segment": segment]), name: "test")
        let packets = PacketQueue(limits: .live, isFromStart: true)
        for index in Int64(0)..<45 {
            _ = packets.push(Samples.video(pts: index, dts: index, isKeyframe: index % 30 == 0))
        }
        let attempt = target.makeAttempt(queue: packets, description: Samples.description) { events.note($0) }
        attempt.start()
        try eventually { events.isAccepted }
        _ = packets.connected()
        attempt.goLive()
        // The second keyframe completes a fragment, and a segment of 1 s.
        try eventually { attempt.progress.bytes > 0 }
        #expect(attempt.progress.frames == written && attempt.progress.waitingFrames == waiting)
        attempt.abandon()
    }
}
