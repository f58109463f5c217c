// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// The directory in which relay stores its own state between runs. Recordings are stored elsewhere.
package enum StateDirectory {
    /// The first of `$STATE_DIRECTORY`, which systemd sets to a colon-separated list, `$XDG_STATE_HOME/relay` and
    /// `~/.local/state/relay`; nil if none of these variables is set.
    package static var path: String? {
        if let state = value("STATE_DIRECTORY") { return state.split(separator: ":").first.map(String.init) }
        if let state = value("XDG_STATE_HOME") { return "\(state)/relay" }
        return value("HOME").map { "\($0)/.local/state/relay" }
    }

    private static func value(_ name: String) -> String? {
        guard let value = getenv(name), value.pointee != 0 else { return nil }
        return String(cString: value)
    }
}

extension MountMemory {
    /// The memory in relay's state directory.
    package static var standard: MountMemory { MountMemory(directory: StateDirectory.path.map { "\($0)/mounts" }) }
}
