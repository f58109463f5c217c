// SPDX-License-Identifier: Apache-2.0

import CLinux
import Foundation
import Glibc
import LibAV
import Logging
import Media
import TestSupport
import Testing

@testable import Ingest
@testable import SourceClock

@Suite("Capture devices")
struct DeviceTests {
    /// The driver of a camera with two formats.
    private static func camera(_ request: UInt, _ argument: UnsafeMutableRawPointer) -> Int32 {
        switch request {
        case relay_v4l2_querycap:
            var answer = v4l2_capability()
            answer.capabilities = 0x8500_0001
            answer.device_caps = 0x0400_0001
            withUnsafeMutableBytes(of: &answer.card) { $0.copyBytes(from: Array("Some Camera: One".utf8)) }
            argument.storeBytes(of: answer, as: v4l2_capability.self)
        case relay_v4l2_enum_fmt:
            var answer = argument.load(as: v4l2_fmtdesc.self)
            guard answer.index < 2, answer.type == 1 else { return -1 }
            answer.pixelformat = answer.index == 0 ? 0x4750_4A4D : 0x5659_5559
            argument.storeBytes(of: answer, as: v4l2_fmtdesc.self)
        case relay_v4l2_enum_framesizes:
            var answer = argument.load(as: v4l2_frmsizeenum.self)
            guard answer.index < (answer.pixel_format == 0x4750_4A4D ? 2 : 1) else { return -1 }
            if answer.pixel_format == 0x4750_4A4D {
                answer.type = 1
                answer.discrete = v4l2_frmsize_discrete(width: 1920 >> answer.index, height: 1080 >> answer.index)
            } else {
                answer.type = 3
                (answer.stepwise.max_width, answer.stepwise.max_height) = (1280, 720)
            }
            argument.storeBytes(of: answer, as: v4l2_frmsizeenum.self)
        case relay_v4l2_enum_frameintervals:
            var answer = argument.load(as: v4l2_frmivalenum.self)
            guard answer.index < 2 else { return -1 }
            answer.type = 1
            answer.discrete =
                answer.index == 0
                ? v4l2_fract(numerator: 1001, denominator: 30_000)
                : v4l2_fract(numerator: 1, denominator: 25)
            argument.storeBytes(of: answer, as: v4l2_frmivalenum.self)
        default: return -1
        }
        return 0
    }

    @Test("A camera is listed with the formats, sizes and rates that its driver reports")
    func video() throws {
        let device = try #require(VideoDevice(path: "/dev/video7", ask: Self.camera))
        #expect(device.address == "v4l2:/dev/video7" && device.name == "Some Camera: One")
        let rates = ["30000/1001", "25"]
        #expect(
            device.modes == [
                VideoDevice.Mode(format: "MJPG", width: 1920, height: 1080, rates: rates),
                VideoDevice.Mode(format: "MJPG", width: 960, height: 540, rates: rates),
                VideoDevice.Mode(format: "YUYV", width: 1280, height: 720, rates: rates),
            ])
    }

    @Test("A device file that captures no video is not listed, and an endless list from a driver is truncated")
    func others() throws {
        #expect(VideoDevice(path: "/dev/video0") { _, _ in -1 } == nil)
        // The node for a camera's metadata.
        let metadata: VideoDevice.Ask = { request, argument in
            var answer = v4l2_capability()
            (answer.capabilities, answer.device_caps) = (0x8080_0001, 0x0080_0000)
            if request == relay_v4l2_querycap { argument.storeBytes(of: answer, as: v4l2_capability.self) }
            return 0
        }
        #expect(VideoDevice(path: "/dev/video0", ask: metadata) == nil)
        let endless: VideoDevice.Ask = { request, argument in
            request == relay_v4l2_querycap ? Self.camera(request, argument) : 0
        }
        #expect(try #require(VideoDevice(path: "/dev/video0", ask: endless)).modes.count == 256)
        let empty = NSTemporaryDirectory() + "relay-devices-\(UUID().uuidString)"
        #expect(VideoDevice.all(in: empty).isEmpty && AudioDevice.all(in: empty).isEmpty)
    }

    @Test("ALSA devices that can capture are listed from the kernel's list of devices")
    func audio() {
        let list = """
            00-00: ALC892 Analog : ALC892 Analog : playback 1 : capture 1
            00-03: HDMI 0 : HDMI 0 : playback 1
            02-00: USB Audio : USB Audio : capture 1

            """
        let found = AudioDevice.capturing(list)
        #expect(found.map(\.address) == ["alsa:hw:0,0", "alsa:hw:2,0"])
        #expect(found.map(\.name) == ["ALC892 Analog", "USB Audio"])
    }

    @Test("An ALSA device reports its capabilities, or an error if it does not exist")
    func askALSA() {
        var silent = AudioDevice(address: "alsa:null", name: "")
        silent.ask()
        if silent.fault == "libasound.so.2 is not installed" { return }
        #expect(silent.fault == nil && silent.bits == [16, 24, 32] && silent.channels.first == 1, "\(silent)")
        var missing = AudioDevice(address: "alsa:hw:77,0", name: "")
        missing.ask()
        #expect(missing.fault != nil && missing.rates.isEmpty)
    }

    @Test(
        "The clock of a capture timestamp is recognized, and wall-clock timestamps are made monotonic"
    )
    func captureClock() {
        let (monotonic, wall): (MonotonicInstant, CaptureClock.WallInstant) = (
            5_000_000_000_000, 1_700_000_000_000_000_000
        )
        func clock(_ stamp: Timestamp) -> CaptureClock? { CaptureClock(stamp: stamp, monotonic: monotonic, wall: wall) }
        #expect(clock(4_999_900_000_000) == .monotonic)
        #expect(clock(1_699_999_999_900_000_000) == .wall)
        #expect(clock(0) == nil && clock(4_940_000_000_000) == nil)
        #expect(clock(.distantPast) == nil && clock(.distantFuture) == nil)
        let shift = CaptureClock.wall.shift(monotonic: monotonic, wall: wall)
        #expect(wall + shift == 5_000_000_000_000)
        #expect(CaptureClock.monotonic.shift(monotonic: monotonic, wall: wall) == .zero)
    }

    @Test("Capture devices are read without blocking, so that opening and reading have deadlines")
    func deadlines() {
        for (text, isPolled) in [("v4l2:/dev/video0", true), ("alsa:hw:1", true), ("lavfi:testsrc2", false)] {
            let (_, options) = InputLocation(text).demuxerSettings(IngestOptions())
            #expect(options.isPolled == isPolled, "\(text)")
            #expect((options.openTimeout != nil) == isPolled && (options.readTimeout != nil) == isPolled)
        }
    }

    @Test("Audio of an ALSA device is played by its capture time, not by the time of reading")
    func capture() throws {
        var device = AudioDevice(address: "alsa:null", name: "")
        device.ask()
        if device.fault != nil { return }
        let location = InputLocation("alsa:null")
        let input = try OpenedInput(location, options: IngestOptions(), monitor: SourceMonitor())
        #expect(input.captureClock == .wall)
        let settings = SourceClockSettings.of(
            input.demuxer, video: nil, frameRate: FrameRate(25), latency: location.latency)
        #expect(settings.arrivals == .captureTime && settings.sharesMap && settings.latency == .milliseconds(80))
        let source = try SourceOpener.open(location, options: IngestOptions(), logger: Logger(label: "test"))
        let sink = CollectingSink(frames: 0, audio: 4800)
        source.start(into: sink, video: nil, audio: .program)
        #expect(sink.waitUntilDone())
        source.stop()
        let clock = try #require(source.status.clock)
        #expect(clock.jumps == 0 && clock.bufferMilliseconds >= 79, "\(clock)")
    }
}
