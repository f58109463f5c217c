// SPDX-License-Identifier: Apache-2.0

internal import Foundation

/// What `rclone backend features` says of a remote, as far as it matters here.
struct RcloneFeatures: Decodable {
    /// The hashes that it keeps.
    var hashes: [String] = []

    private enum CodingKeys: String, CodingKey { case hashes = "Hashes" }

    /// Reads rclone's JSON; what cannot be read knows no hash.
    init(parsing text: String) {
        self = (try? JSONDecoder().decode(Self.self, from: Data(text.utf8))) ?? RcloneFeatures()
    }

    private init() {}

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        hashes = try container.decodeIfPresent([String].self, forKey: .hashes) ?? []
    }
}

/// What `rclone lsjson --stat` says of a file.
struct RcloneListing: Decodable {
    /// Its size; nil if there is no such file.
    var size: Int64?
    /// Its hashes by their names.
    var hashes: [String: String] = [:]

    private enum CodingKeys: String, CodingKey {
        case size = "Size"
        case hashes = "Hashes"
        case isDirectory = "IsDir"
    }

    /// Reads rclone's JSON; what cannot be read is no file.
    init(parsing text: String) {
        self = (try? JSONDecoder().decode(Self.self, from: Data(text.utf8))) ?? RcloneListing()
    }

    private init() {}

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        guard try container.decodeIfPresent(Bool.self, forKey: .isDirectory) != true else { return }
        size = try container.decode(Int64.self, forKey: .size)
        hashes = try container.decodeIfPresent([String: String].self, forKey: .hashes) ?? [:]
    }
}
