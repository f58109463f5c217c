// SPDX-License-Identifier: Apache-2.0

internal import Foundation

/// The relevant part of the output of `rclone backend features`.
struct RcloneFeatures: Decodable {
    /// The hashes that the remote supports. Their names become arguments of rclone, so each begins with a letter.
    var hashes: [String] = []

    private enum CodingKeys: String, CodingKey { case hashes = "Hashes" }

    /// Reads rclone's JSON; if that fails, no hash is supported.
    init(parsing text: String) {
        self = (try? JSONDecoder().decode(Self.self, from: Data(text.utf8))) ?? RcloneFeatures()
    }

    private init() {}

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let names = try container.decodeIfPresent([String].self, forKey: .hashes) ?? []
        hashes = names.filter { name in
            let scalars = name.unicodeScalars
            return scalars.first.map(Self.isLetter) == true
                && scalars.allSatisfy { Self.isLetter($0) || ("0"..."9").contains($0) || $0 == "-" }
        }
    }

    private static func isLetter(_ scalar: Unicode.Scalar) -> Bool {
        ("a"..."z").contains(scalar) || ("A"..."Z").contains(scalar)
    }
}

/// The output of `rclone lsjson --stat` for a file.
struct RcloneListing: Decodable {
    /// The file's size; nil if there is no such file.
    var size: Int64?
    /// The file's hashes, by the names of the algorithms. An empty text is no hash.
    var hashes: [String: String] = [:]

    private enum CodingKeys: String, CodingKey {
        case size = "Size"
        case hashes = "Hashes"
        case isDirectory = "IsDir"
    }

    /// Reads rclone's JSON; if that fails, the listing has no file.
    init(parsing text: String) {
        self = (try? JSONDecoder().decode(Self.self, from: Data(text.utf8))) ?? RcloneListing()
    }

    private init() {}

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        guard try container.decodeIfPresent(Bool.self, forKey: .isDirectory) != true else { return }
        size = try container.decode(Int64.self, forKey: .size)
        hashes = try container.decodeIfPresent([String: String].self, forKey: .hashes) ?? [:]
        hashes = hashes.filter { !$0.value.isEmpty }
    }
}
