// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// The directory in which relay stores its own state between runs. Recordings are stored elsewhere.
package enum StateDirectory {
    /// The path of the directory: `$STATE_DIRECTORY`, otherwise `$XDG_STATE_HOME/relay`, otherwise
    /// `$HOME/.local/state/relay`. Nil if none of these variables is set. systemd sets `$STATE_DIRECTORY` to a
    /// colon-separated list, of which the first path is used.
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
