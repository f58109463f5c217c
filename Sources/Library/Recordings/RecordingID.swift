// SPDX-License-Identifier: Apache-2.0

internal import Foundation

/// The API's identifier of a recorded file: its closed name, encoded in characters that a URL's path may contain
/// (base64url, RFC 4648, 5). It does not change when the file is closed.
enum RecordingID {
    private static let longest = 4096

    /// The identifier of the file whose closed name is `name`.
    static func id(of name: String) -> String {
        Data(name.utf8).base64EncodedString()
            .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    /// The closed name of the file of `id`; nil if `id` is not an identifier.
    static func name(of id: String) -> String? {
        guard !id.isEmpty, id.utf8.count <= longest else { return nil }
        let plain = id.replacing("-", with: "+").replacing("_", with: "/")
        let padding = String(repeating: "=", count: (4 - plain.utf8.count % 4) % 4)
        guard let data = Data(base64Encoded: plain + padding), let name = String(data: data, encoding: .utf8),
            self.id(of: name) == id
        else { return nil }
        return name
    }
}
