// SPDX-License-Identifier: Apache-2.0

internal import CLinux
internal import Glibc

/// An ALSA device that captures audio, with its capabilities.
package struct AudioDevice: Sendable, Hashable, Codable {
    /// The value for `--input` and `--audio-input`.
    package var address: String
    /// The driver's name for the device.
    package var name: String
    /// The supported sizes of a sample, in bits.
    package var bits: [Int] = []
    /// The smallest and the largest supported number of channels.
    package var channels: [Int] = []
    /// The lowest and the highest supported sample rate, in samples a second.
    package var rates: [Int] = []
    /// Why the capabilities are not known; nil if they are known.
    package var fault: String?
}

extension AudioDevice {
    /// The devices of this machine. The capabilities of a device that is in use cannot be read.
    package static func all(in list: String = "/proc/asound/pcm") -> [AudioDevice] {
        guard let file = fopen(list, "re") else { return [] }
        defer { fclose(file) }
        var text = [UInt8](repeating: 0, count: 1 << 16)
        let count = fread(&text, 1, text.count, file)
        return capturing(String(decoding: text.prefix(count), as: UTF8.self)).map { address, name in
            var device = AudioDevice(address: address, name: name)
            device.ask()
            return device
        }
    }

    /// Returns the capturing devices in the kernel's list, which `snd_pcm_proc_read` of the kernel writes. A line of
    /// the list is, for example, `01-00: USB Audio : USB Audio : playback 1 : capture 1`.
    static func capturing(_ list: String) -> [(address: String, name: String)] {
        list.split(separator: "\n").compactMap { line in
            let parts = line.split(separator: ":").map { $0.drop { $0 == " " }.prefix { $0 != "\n" } }
            let numbers = parts.first?.split(separator: "-").compactMap { Int($0) } ?? []
            guard numbers.count == 2, parts.dropFirst(2).contains(where: { $0.hasPrefix("capture ") }) else {
                return nil
            }
            let name = String(parts[1].reversed().drop { $0 == " " }.reversed())
            return ("alsa:hw:\(numbers[0]),\(numbers[1])", name)
        }
    }

    /// Reads the capabilities from the device. Does not block on a device that is in use.
    mutating func ask() {
        var found = relay_alsa_capabilities()
        let code = relay_alsa_ask(String(address.dropFirst("alsa:".count)), &found)
        guard code == 0 else {
            fault = code == -ELIBACC ? "libasound.so.2 is not installed" : String(cString: strerror(-code))
            return
        }
        bits = [(16, found.has_16), (24, found.has_24), (32, found.has_32)].filter { $0.1 != 0 }.map(\.0)
        channels = [Int(found.channels.0), Int(found.channels.1)]
        rates = [Int(found.rates.0), Int(found.rates.1)]
    }
}
