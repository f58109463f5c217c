// SPDX-License-Identifier: Apache-2.0

import Archive
import Dispatch
import Media
import Segmenter
import Synchronization
import TestSupport
import Testing

@testable import Channel

/// A disk that answers when the test lets it.
private final class BlockedDisk: Sendable {
    let answers = DispatchSemaphore(value: 0)
    private let count = Mutex(0)

    /// The number of questions so far.
    var asked: Int { count.withLock { $0 } }

    func ask() {
        count.withLock { $0 += 1 }
        answers.wait()
    }
}

@Suite("A channel whose disk hangs")
struct HungDiskTests {
    private let disk = BlockedDisk()

    @Test("A recording is refused if the disk of its prepared directory does not answer in time")
    func opening() throws {
        let temporary = try TemporaryDirectory()
        let configuration = ChannelConfiguration.Recording(
            directory: temporary.path, mount: .ignored, length: .duration(.seconds(1)), expected: .seconds(1),
            warning: .seconds(1), reserve: ByteSize(bytes: 100_000))
        let place = try RecordingPlace(configuration, channel: "test", logger: quiet)
        let failure = #expect(throws: ChannelFailure.self) {
            try place.checkDisk(within: .milliseconds(20)) { [disk] _ in disk.ask() }
        }
        #expect(failure?.cause == .cannotRecord)
        #expect(failure?.description.contains("does not answer") == true)
        disk.answers.signal()
        try place.checkDisk(within: .seconds(60))
    }

    @Test("A disk is silent when it has not answered one question for long, and is asked again after each answer")
    func pulse() throws {
        let clock = ManualClock()
        let pulse = DiskPulse(of: "/second", clock: clock) { [disk] _ in disk.ask() }
        #expect(!pulse.isSilent(for: .seconds(12)))
        clock.advance(by: .milliseconds(11_999))
        #expect(!pulse.isSilent(for: .seconds(12)))
        disk.answers.signal()
        try eventually("the disk has answered") { !pulse.isSilent(for: .zero) }
        // The next question follows after a pause.
        clock.advance(by: .seconds(1))
        #expect(pulse.isSilent(for: .zero) && !pulse.isSilent(for: .seconds(12)))
        clock.advance(by: .seconds(12))
        #expect(pulse.isSilent(for: .seconds(12)))
        disk.answers.signal()
        try eventually("the disk answers again") { !pulse.isSilent(for: .zero) }
        #expect(disk.asked == 2)
    }

    @Test("Several disks are silent only when none of them answers, and not once no work is left on any of them")
    func pulses() throws {
        let (clock, healthy) = (ManualClock(), "/second")
        var pulses = DiskPulses { [disk] in
            DiskPulse(of: $0, clock: clock) { path in if path != healthy { disk.ask() } }
        }
        func areSilent(_ paths: Set<String>, for patience: Duration) -> Bool {
            pulses.areSilent(paths, for: patience)
        }
        let replaced: Set = ["/replaced", "/earlier"]
        let all = replaced.union([healthy])
        #expect(!areSilent(all, for: .seconds(12)))
        clock.advance(by: .seconds(12))
        try eventually("the healthy disk has answered") { !areSilent(all, for: .zero) }
        #expect(!areSilent(all, for: .seconds(12)))
        // All work on the healthy disk is done.
        #expect(areSilent(replaced, for: .seconds(12)))
        #expect(!areSilent([], for: .zero))
        for _ in replaced { disk.answers.signal() }
        try eventually("the disks answer again") { !areSilent(replaced, for: .zero) }
        #expect(disk.asked == 2)
    }
}
