// SPDX-License-Identifier: Apache-2.0

package import Media
internal import Networking

/// A stinger in the syntax of the command-line option: `name=file`, with the time of its cut after a `#`.
package struct StingerSpecification: Sendable, Equatable {
    /// The maximum number of stingers of a program.
    package static let most = 8
    /// The maximum length of a stinger, in seconds. `mostBytes` is the maximum size of its file, in bytes.
    static let longest = 5.0
    private static let mostBytes = 1 << 30

    package let name: String
    package let path: String
    /// The time at which the scene under the stinger changes, in seconds since the stinger's beginning.
    let cut: Double

    /// Parses `text`, and checks the file that it names.
    package init(_ text: String) throws(TextFailure) {
        guard let match = text.wholeMatch(of: /([A-Za-z0-9._-]{1,40})=(.+?)#(cut=.*)/) else {
            throw TextFailure("\(option: "--stinger") is NAME=FILE#cut=SECONDS, such as wipe=wipe.mov#cut=0.5.")
        }
        (name, path) = (String(match.output.1), String(match.output.2))
        do {
            var options = try OptionList(behindMark: match.output.3, of: "stinger") { $0 }
            guard let word = try options.take("cut"), let cut = Double(word), (0...Self.longest).contains(cut) else {
                throw options.error(in: "cut", "is a time from 0 to \(Int(Self.longest)), in seconds")
            }
            self.cut = cut
            try options.finish()
        } catch {
            throw TextFailure("\(option: "--stinger", .name(name)): \(error)")
        }
        try OverlaySpecification.check(path, of: OptionReference("--stinger", .name(name)), most: Self.mostBytes)
    }
}
