// SPDX-License-Identifier: Apache-2.0

internal import Ingest
package import Media

/// An input of a rendered show. Its syntax is that of the input flag of `relay run`, with the additional option `at=`.
package struct RenderedInput: Equatable {
    private static let option = "at="

    /// The input's text without `at=`.
    package let text: String
    /// The time between the beginning of the show and the beginning of the input.
    package let lead: Duration

    package init(_ text: String) throws(TextFailure) {
        let (address, fragment) = InputLocation.split(text, knowing: ["at"])
        let options = fragment.split(separator: ",")
        let leads = options.filter { $0.hasPrefix(Self.option) }
        guard let lead = leads.first else {
            (self.text, self.lead) = (text, .zero)
            return
        }
        guard leads.count == 1, let time = try? DurationText(parsing: String(lead.dropFirst(Self.option.count))) else {
            throw TextFailure("--input \(address): at= is when it begins in the show, such as at=2.5s.")
        }
        let others = options.filter { !$0.hasPrefix(Self.option) }.joined(separator: ",")
        self.text = others.isEmpty ? address : "\(address)#\(others)"
        self.lead = time.duration
    }
}
