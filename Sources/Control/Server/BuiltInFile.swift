// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import Page

/// A file that is built into the executable: a file of the web page, or the description of the API.
struct BuiltInFile: Sendable {
    /// The path at which the file is served, without the leading slash.
    let path: String
    /// The file's media type.
    let type: String
    let content: ByteBuffer

    /// All files that are built into the executable.
    static let all: [BuiltInFile] = {
        var count = 0
        guard let first = relay_assets(&count) else { return [] }
        return UnsafeBufferPointer(start: first, count: count).map { asset in
            BuiltInFile(
                path: String(cString: asset.path), type: String(cString: asset.type),
                content: ByteBuffer(bytes: UnsafeBufferPointer(start: asset.bytes, count: asset.count)))
        }
    }()

    /// The file that is served at `path`; nil if there is no such file.
    static func named(_ path: String) -> BuiltInFile? { all.first { $0.path == path } }
}
