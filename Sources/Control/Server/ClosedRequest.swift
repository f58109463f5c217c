// SPDX-License-Identifier: Apache-2.0

internal import Media
internal import Studio

/// A body that may have these keys and no others: what changes the air must not do something else because a key was
/// misspelt.
protocol ClosedRequest: Decodable {
    /// All keys; those of objects in it behind the object's own and a point.
    static var keys: [String] { get }
}

extension ClosedRequest {
    /// Throws where one of `paths` is not known, with what there is in its place.
    static func check(_ paths: KeyPaths) throws(Refusal) {
        guard let unknown = paths.paths.first(where: { !keys.contains($0) }) else { return }
        let parent = unknown.lastIndex(of: ".").map { String(unknown[...$0]) } ?? ""
        var told: Set<Substring> = []
        let known = keys.filter { $0.hasPrefix(parent) }.map { $0.dropFirst(parent.count) }
            .filter { !$0.contains(".") && told.insert($0).inserted }
        throw Refusal(.unusable, "There is no key \(unknown). There are \(known.joined(separator: ", ")).")
    }
}

/// The keys of a JSON text, each behind those of the objects that it is in. A place in a list is not told.
struct KeyPaths: Decodable {
    let paths: [String]

    init(from decoder: any Decoder) throws {
        var paths: [String] = []
        if let object = try? decoder.container(keyedBy: AnyCodingKey.self) {
            for key in object.allKeys {
                // A number beyond all bounds is wrong in the value's own words.
                paths += ((try? object.decode(KeyPaths.self, forKey: key))?.paths ?? []).inside(key.stringValue)
            }
        } else if var list = try? decoder.unkeyedContainer() {
            while !list.isAtEnd { paths += try list.decode(KeyPaths.self).paths }
        }
        self.paths = paths
    }
}
