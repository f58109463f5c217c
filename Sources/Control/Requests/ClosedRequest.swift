// SPDX-License-Identifier: Apache-2.0

internal import Media
internal import Studio

/// A request body in which only known keys are allowed: a misspelt key must not make a command do something else.
protocol ClosedRequest: Decodable {
    /// All known keys; a key of a nested object has the form `object.key`.
    static var keys: [String] { get }
}

extension ClosedRequest {
    /// Throws if one of `paths` is not a known key. The message lists the known keys of the object that contains the
    /// unknown key.
    static func check(_ paths: KeyPaths) throws(Refusal) {
        guard let unknown = paths.paths.first(where: { !keys.contains($0) }) else { return }
        let parent = unknown.lastIndex(of: ".").map { String(unknown[...$0]) } ?? ""
        var told: Set<Substring> = []
        let known = keys.filter { $0.hasPrefix(parent) }.map { $0.dropFirst(parent.count) }
            .filter { !$0.contains(".") && told.insert($0).inserted }
        throw Refusal(.unusable, "There is no key \(unknown). There are \(known.joined(separator: ", ")).")
    }
}

/// The keys in a JSON text, each as a path through its objects. The indices of lists are left out.
struct KeyPaths: Decodable {
    let paths: [String]

    init(from decoder: any Decoder) throws {
        var paths: [String] = []
        if let object = try? decoder.container(keyedBy: AnyCodingKey.self) {
            for key in object.allKeys {
                // A dot inside a key must not divide the path. It is replaced by a character that looks the same
                // (U+2024).
                let name = key.stringValue.replacing(".", with: "\u{2024}")
                // An error is ignored here, such as that of a number that is out of range. It is reported later, when
                // the value is decoded.
                paths += ((try? object.decode(KeyPaths.self, forKey: key))?.paths ?? []).inside(name)
            }
        } else if var list = try? decoder.unkeyedContainer() {
            while !list.isAtEnd { paths += try list.decode(KeyPaths.self).paths }
        }
        self.paths = paths
    }
}
