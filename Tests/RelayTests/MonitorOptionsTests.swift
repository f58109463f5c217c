// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Channel
import Media
import Monitor
import Testing

@testable import Ingest
@testable import Relay

@Suite("Flags of monitors and devices")
struct MonitorOptionsTests {
    private func settings(_ flags: [String]) throws -> MonitorSettings {
        let command = try #require(try RelayCommand.parseAsRoot(["--record", "d"] + flags) as? RunCommand)
        return try command.channelConfiguration().monitor
    }

    @Test("Alarms are on by default, and loudness correction is off; both can be configured")
    func alarms() throws {
        #expect(try settings([]) == MonitorSettings())
        let given = try settings([
            "--silence-alarm", "5s", "--silence-level", "-50", "--black-alarm", "off", "--frozen-alarm", "1m",
            "--frozen-level", "1", "--loudness", "-23",
        ])
        #expect(given.silence == .seconds(5) && given.silenceLevel == -50 && given.black == nil)
        #expect(given.frozen == .seconds(60) && given.frozenLevel == 1 && given.loudness == -23)
        #expect(try settings(["--meter"]).measuresLoudness)
    }

    @Test(
        "Invalid values of monitoring flags are refused",
        arguments: [
            ["--loudness", "3"], ["--silence-level", "0"], ["--black-level", "0"], ["--silence-alarm", "0"],
            ["--frozen-level", "50"],
        ])
    func faults(flags: [String]) { #expect(throws: (any Error).self) { try settings(flags) } }

    @Test("A copied program is monitored only on request, and only its audio")
    func copied() throws {
        let copy = ["--copy", "--input", "a.mp4"]
        var nothing = MonitorSettings()
        (nothing.silence, nothing.black, nothing.frozen) = (nil, nil, nil)
        #expect(try settings(copy) == nothing)
        let asked = try settings(copy + ["--meter", "--silence-alarm", "5s"])
        #expect(asked.measuresLoudness && asked.silence == .seconds(5) && asked.black == nil)
        for flags in [["--loudness", "-23"], ["--black-alarm", "5s"], ["--frozen-level", "1"]] {
            #expect(throws: (any Error).self) { try settings(copy + flags) }
        }
    }

    @Test("The device list shows what each device captures, or that there is no device")
    func devices() {
        #expect(
            DeviceList(video: [], audio: []).text == """
                No device here captures video (V4L2).
                No device here captures audio (ALSA).

                """)
        let mode = VideoDevice.Mode(format: "MJPG", width: 1920, height: 1080, rates: ["30", "25"])
        let camera = VideoDevice(address: "v4l2:/dev/video0", name: "Some Camera", modes: [mode], fault: nil)
        let closed = VideoDevice(address: "v4l2:/dev/video1", name: "", modes: [], fault: "Permission denied")
        let card = AudioDevice(
            address: "alsa:hw:1,0", name: "USB Audio", bits: [16, 24], channels: [2, 2], rates: [44_100, 96_000])
        #expect(
            DeviceList(video: [camera, closed], audio: [card]).text == """
                v4l2:/dev/video0  Some Camera
                    MJPG  1920x1080  30, 25 fps
                v4l2:/dev/video1
                    Permission denied
                alsa:hw:1,0  USB Audio
                    16, 24 bits  2 channels  44100 to 96000 Hz

                """)
    }
}
