// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Foundation
internal import Glibc
internal import Media
internal import Networking

/// Describes the system and the running relays, but without addresses, command lines and environments.
enum DiagnosticSystem {
    private static let processors = "/proc/cpuinfo"

    /// The versions of relay and the system, and the processors, memory, load, limits, network interfaces and video
    /// devices.
    static var text: String {
        var lines = ["relay \(RelayVersion.text)", "time \(UTCTime.now.extended)"]
        lines += field("PRETTY_NAME", in: "/etc/os-release", separator: "=").map { ["system \($0)"] } ?? []
        var kernel = utsname()
        if uname(&kernel) == 0 { lines.append("kernel \(text(of: &kernel.release)) \(text(of: &kernel.machine))") }
        let model = field("model name", in: processors, separator: ":") ?? "?"
        lines.append("processors \(ProcessInfo.processInfo.activeProcessorCount) × \(model)")
        for key in ["MemTotal", "MemAvailable", "SwapTotal", "SwapFree"] {
            lines += field(key, in: "/proc/meminfo", separator: ":").map { ["\(key) \($0)"] } ?? []
        }
        lines.append("load \(read("/proc/loadavg") ?? "?")")
        for file in ["cpu.max", "memory.max"] {
            lines += read("/sys/fs/cgroup/\(file)").map { ["cgroup \(file) \($0)"] } ?? []
        }
        lines.append("interfaces \(names(in: "/sys/class/net").joined(separator: " "))")
        lines.append("devices \(names(in: "/dev").filter { $0.hasPrefix("video") }.joined(separator: " "))")
        return lines.map { $0 + "\n" }.joined()
    }

    /// The state, limits, memory, threads, open files and loaded libraries of each running relay, except this process.
    static var processes: String {
        let own = "\(getpid())"
        let relays = names(in: "/proc").filter { $0 != own && read("/proc/\($0)/comm")?.hasPrefix("relay") == true }
        if relays.isEmpty { return "no relay runs here, or none that can be looked at\n" }
        return relays.map { pid in
            let status = (read("/proc/\(pid)/status") ?? "").split(separator: "\n").filter { line in
                ["State", "Uid", "VmPeak", "VmRSS", "VmSwap", "Threads", "voluntary", "nonvoluntary"].contains {
                    line.hasPrefix($0)
                }
            }
            let files = names(in: "/proc/\(pid)/fd").count
            let lines = ["process \(pid)"] + status.map(String.init) + ["open files \(files)"]
            return lines.map { $0 + "\n" }.joined() + (read("/proc/\(pid)/limits") ?? "") + "\n"
                + libraries(of: pid).map { $0 + "\n" }.joined()
        }.joined(separator: "\n")
    }

    private static func libraries(of pid: String) -> [String] {
        let paths = (read("/proc/\(pid)/maps") ?? "").split(separator: "\n").compactMap { line in
            line.firstIndex(of: "/").map { String(line[$0...]) }
        }
        return Set(paths.filter { $0.contains(".so") }).sorted()
    }

    /// Describes the mount point, file system and free space of each of `directories`.
    static func disks(_ directories: [String]) -> String {
        var seen: Set<String> = []
        let lines = directories.filter { seen.insert($0).inserted }.map { directory in
            let space = Answer.of("relay.diagnose", within: .seconds(5)) {
                Result { () throws(FileFailure) in try SystemFreeSpace().space(at: directory) }
            }
            let free =
                switch space {
                case .success(let space): "\(space.free) of \(space.capacity) bytes free"
                case .failure(let failure): "\(failure)"
                case nil: "it does not answer"
                }
            return "\(directory): \(mount(of: directory)), \(free)\n"
        }
        return lines.isEmpty ? "nothing is recorded\n" : lines.joined()
    }

    /// Describes the file system of `directory`: its type, its mount point, and whether it is writable. Its source and
    /// its other options are left out, because they may contain a login.
    private static func mount(of directory: String) -> String {
        let path = URL(fileURLWithPath: directory).standardizedFileURL.path
        let mounts = (read("/proc/self/mountinfo") ?? "").split(separator: "\n").compactMap { line in
            let sides = line.components(separatedBy: " - ")
            let (left, right) = (sides[0].split(separator: " "), sides.dropFirst().first?.split(separator: " "))
            return left.count > 5 ? (point: String(left[4]), options: left[5], type: right?.first ?? "?") : nil
        }
        let holding = mounts.filter { path == $0.point || path.hasPrefix($0.point == "/" ? "/" : $0.point + "/") }
        guard let mount = holding.max(by: { $0.point.count < $1.point.count }) else { return "no mount is known" }
        let isReadOnly = mount.options.split(separator: ",").contains("ro")
        return "\(mount.type) at \(mount.point), \(isReadOnly ? "read-only" : "writable")"
    }

    private static func read(_ path: String) -> String? {
        FileManager.default.contents(atPath: path).map {
            String(decoding: $0, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        }
    }

    private static func names(in directory: String) -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []).sorted()
    }

    /// Returns the text after `separator` in the first line of the file `path` that begins with `key`; nil if there is
    /// no such line.
    private static func field(_ key: String, in path: String, separator: Character) -> String? {
        let line = read(path)?.split(separator: "\n").first { $0.hasPrefix(key) }
        return line?.split(separator: separator, maxSplits: 1).dropFirst().first.map {
            $0.trimmingCharacters(in: .whitespaces.union(.init(charactersIn: "\"")))
        }
    }

    private static func text<Characters>(of characters: inout Characters) -> String {
        withUnsafeBytes(of: &characters) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }
}
