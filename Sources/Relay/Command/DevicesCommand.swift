// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Foundation
internal import Glibc
internal import Ingest

/// `relay devices`: lists capture devices.
struct DevicesCommand: BlockingCommand {
    static let configuration = CommandConfiguration(
        commandName: "devices", abstract: "Lists the capture devices of this machine, with what they can capture.",
        discussion: """
            The first word of each is what --input or --audio-input takes. A device that another program uses may not say \
            what it can do.
            """)

    @Flag(help: "Print JSON instead of text.")
    var json = false

    func work() throws {
        let list = DeviceList(video: VideoDevice.all(), audio: AudioDevice.all())
        Terminal.put(json ? try RecordingsListing.json(list) : list.text, to: STDOUT_FILENO)
    }
}

/// The list that `relay devices` prints.
struct DeviceList: Encodable {
    let video: [VideoDevice]
    let audio: [AudioDevice]

    /// The list as text for people.
    var text: String {
        let none =
            (video.isEmpty ? ["No device here captures video (V4L2)."] : [])
            + (audio.isEmpty ? ["No device here captures audio (ALSA)."] : [])
        return (video.flatMap(Self.lines) + audio.flatMap(Self.lines) + none).map { $0 + "\n" }.joined()
    }

    private static func head(_ address: String, _ name: String) -> String {
        name.isEmpty ? address : "\(address)  \(name)"
    }

    private static func lines(_ device: VideoDevice) -> [String] {
        let modes = device.modes.map { mode in
            "    \(mode.format)  \(mode.width)x\(mode.height)  \(mode.rates.joined(separator: ", ")) fps"
        }
        return [head(device.address, device.name)] + modes + (device.fault.map { ["    \($0)"] } ?? [])
    }

    private static func lines(_ device: AudioDevice) -> [String] {
        let head = head(device.address, device.name)
        if let fault = device.fault { return [head, "    \(fault)"] }
        let range = { (values: [Int]) in Set(values).sorted().map(String.init).joined(separator: " to ") }
        let bits = device.bits.map(String.init).joined(separator: ", ")
        return [head, "    \(bits) bits  \(range(device.channels)) channels  \(range(device.rates)) Hz"]
    }
}
