// SPDX-License-Identifier: Apache-2.0

internal import Media

/// A request to free `bytes` of space by deleting recordings. Without `token` the deletion is only planned; with the
/// token of a plan, the plan is carried out.
struct NewRoom: Decodable {
    let bytes: Int64
    let token: String?

    /// Returns the number of bytes, which is above 0.
    func checked() throws(Refusal) -> Int64 {
        guard bytes > 0 else { throw Refusal(.unusable, "bytes is a number above 0.") }
        return bytes
    }
}

/// A part of the recordings that is to be exported.
struct NewExport: Decodable {
    /// The maximum length of an export: a day. Longer clips must be exported in parts.
    private static let longest = Duration.seconds(86_400)

    let channel: String
    let source: String?
    let from: String
    let to: String
    let name: String?
    let exact: Bool?

    /// Returns the wall-clock times of the part, in milliseconds since 1970, and the name of the file.
    func checked() throws(Refusal) -> (range: Range<Int64>, name: String?) {
        let from = try ClockTime.milliseconds(from, "from")
        let to = try ClockTime.milliseconds(to, "to")
        guard from < to, .milliseconds(to - from) <= Self.longest else {
            throw Refusal(.unusable, "to is after from, by a day at most.")
        }
        return (from..<to, try ClipName.checked(name))
    }
}
