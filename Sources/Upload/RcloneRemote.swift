// SPDX-License-Identifier: Apache-2.0

package import Media

/// A destination that is configured in rclone, in the form of `--upload`: `remote:bucket/path`.
package struct RcloneRemote: Sendable, Equatable, CustomStringConvertible {
    /// The remote with its colon, such as `archive:` or, for a backend without configuration, `:local:`.
    let remote: String
    /// The path on the remote, without a slash at the end unless the path is `/`; can be empty.
    private(set) var path: String

    /// Reads `text`; throws a sentence if it is invalid.
    ///
    /// Connection strings (`remote,pass=…:`) are refused, because every user of the machine could read them in rclone's
    /// command line.
    package init(parsing text: String) throws(TextFailure) {
        guard let colon = text.dropFirst().firstIndex(of: ":") else {
            throw TextFailure(
                "\(option: "--upload") takes a remote of rclone and a path on it, such as archive:bucket/path.")
        }
        let name = text[..<colon]
        guard !name.contains(where: { ",='\"".contains($0) }) else {
            throw TextFailure(
                "\(option: "--upload") takes a remote by its name: what belongs to it is for rclone config or for "
                    + "RCLONE_CONFIG_ "
                    + "variables, because everybody can read command lines.")
        }
        let body = name.hasPrefix(":") ? name.dropFirst() : name
        let isName = body.unicodeScalars.allSatisfy {
            $0.properties.isAlphabetic || ("0"..."9").contains($0) || "_-.+@ ".unicodeScalars.contains($0)
        }
        guard isName, !body.isEmpty, !body.hasPrefix("-"), !body.hasPrefix(" "), !body.hasSuffix(" ") else {
            throw TextFailure(
                "\(option: "--upload") takes a remote of rclone and a path on it, such as archive:bucket/path.")
        }
        remote = name + ":"
        var path = text[text.index(after: colon)...]
        while path.hasSuffix("/"), path.count > 1 { path.removeLast() }
        self.path = String(path)
    }

    /// Returns the remote path of the file `name`, which can contain subdirectories.
    func place(of name: String) -> String {
        if path.isEmpty { return remote + name }
        return path.hasSuffix("/") ? remote + path + name : "\(remote)\(path)/\(name)"
    }

    /// Returns the destination that is the folder `name` within this destination.
    func folder(_ name: String) -> RcloneRemote {
        var folder = self
        folder.path = String(place(of: name).dropFirst(remote.count))
        return folder
    }

    package var description: String { remote + path }
}
