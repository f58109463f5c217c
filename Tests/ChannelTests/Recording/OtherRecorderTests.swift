// SPDX-License-Identifier: Apache-2.0

import Archive
import Foundation
import Media
import TestSupport
import Testing

@testable import Channel

@Suite("Another process that records a channel in the same directory")
struct OtherRecorderTests {
    private static let file = "test_20261121T140310.123Z_000001.mp4"

    private let place: TemporaryDirectory
    private let clock = ManualClock()
    private let other: OtherRecorder

    init() throws {
        place = try TemporaryDirectory()
        other = OtherRecorder(of: "test", in: try RecordDirectory.prepare(place.path), clock: clock)
    }

    /// Begins a file of `channel`. As long as the result lives, the file is locked, as by a process that records it.
    private func record(_ channel: String) throws -> FileDescriptor {
        let name = "\(channel)_20261121T160310.123Z_000003.mp4" + SegmentName.openMark
        try place.write("begun".utf8, to: name)
        let lock = try FileDescriptor.open(existing: place.path(name))
        #expect(lock.lock())
        return lock
    }

    @Test("While another process records a channel, no file of the channel may be deleted, and the reason is known")
    func recorded() throws {
        #expect(other.mayDelete(Self.file) && other.failure == nil && other.look() == nil)
        try withExtendedLifetime(record("test")) {
            clock.advance(by: .seconds(1))
            #expect(!other.mayDelete(Self.file))
            let failure = try #require(other.failure)
            #expect("\(failure)".contains("another process records test there") && "\(failure)".contains(place.path))
        }
        clock.advance(by: .seconds(1))
        #expect(other.mayDelete(Self.file) && other.failure == nil)
    }

    @Test("A file of another channel, and a file that a crash left open, do not prevent a deletion")
    func unrelated() throws {
        try place.write("left open".utf8, to: Self.file + SegmentName.openMark)
        try withExtendedLifetime(record("test-cam")) { #expect(other.mayDelete(Self.file)) }
    }

    @Test("The directory is listed at most once a second, however often retention asks")
    func listed() throws {
        #expect(other.mayDelete(Self.file))
        try withExtendedLifetime(record("test")) {
            clock.advance(by: .milliseconds(999))
            #expect(other.mayDelete(Self.file))
            #expect(other.look() != nil && other.failure == nil, "a look of its own is not remembered")
            clock.advance(by: .milliseconds(1))
            #expect(!other.mayDelete(Self.file))
        }
        clock.advance(by: .milliseconds(999))
        #expect(!other.mayDelete(Self.file))
    }

    @Test("If the directory cannot be listed, no file may be deleted")
    func unreadable() throws {
        try FileManager.default.removeItem(atPath: place.path)
        #expect(!other.mayDelete(Self.file) && other.failure != nil)
    }
}
