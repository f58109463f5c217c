// SPDX-License-Identifier: Apache-2.0

package import Networking

/// The directory of an HLS output: `hls:/var/www/live`, or `hls:live`, relative to the working directory.
package struct HLSLocation: Sendable, Equatable, CustomStringConvertible {
    /// The directory's path, without a trailing slash.
    package let path: String

    /// Parses `text`.
    package init(_ text: String) throws(AddressError) {
        guard let colon = text.firstIndex(of: ":"), text[..<colon].lowercased() == "hls" else {
            throw AddressError("The address must begin with hls: and go on with a directory.")
        }
        let rest = text[text.index(after: colon)...]
        guard !rest.hasPrefix("//") else {
            throw AddressError("hls: takes a directory of this host, such as hls:/var/www/live.")
        }
        guard !rest.isEmpty else { throw AddressError("The address hls: names no directory.") }
        guard rest.utf8.count <= 3000, !rest.unicodeScalars.contains(where: { $0.value < 0x20 }) else {
            throw AddressError("The directory's path is too long or contains a control character.")
        }
        var path = rest
        while path.count > 1, path.last == "/" { path.removeLast() }
        self.path = String(path)
    }

    package var description: String { "hls:\(path)" }
}
