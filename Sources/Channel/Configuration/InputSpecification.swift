// SPDX-License-Identifier: Apache-2.0

package import Ingest
internal import Media
internal import Networking
package import Program
package import Studio

/// The reason why an input's text cannot be used: one sentence, without parts that might be secret.
package struct InputSpecificationError: Error, Equatable, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}

/// One input in the syntax of the input flag: `address#option=value,option=value`. The backups are among the options.
///
/// In a value, a comma is written `%2C`. An address in `backup=` can have options of its own after a `#`. Addresses can
/// contain references to secrets: see ``SecretReferences``.
package struct InputSpecification {
    /// The input's name in logs and the status; nil means its address.
    package private(set) var name: String?
    /// The input's address.
    package let location: InputLocation
    /// The inputs that replace this input while it delivers nothing, in order of preference.
    package private(set) var backups: [InputLocation] = []
    /// How the source chooses between this input and its backups.
    package private(set) var selection = SourceSelector.Options()
    /// The name of an option in the text that configures how the source chooses between inputs; nil without such an
    /// option. Such an option is an error if the source has only one input.
    package private(set) var selectionOption: String?
    /// How ready an input is kept while it is not on air; nil means the default.
    package private(set) var standby: SourceSelector.Standby?
    /// What happens to this input, if it is a file, while it is neither visible nor audible; nil means the default.
    package private(set) var whenOff: WhenOff?
    /// The initial settings of the input's audio.
    package private(set) var audio = Fader.Settings()
    /// The name of the option that set `audio`; nil if none did. Such an option is an error unless the program has
    /// several sources.
    package private(set) var audioOption: String?

    private enum Answer: String, CaseIterable {
        case yes
        case no
    }

    /// The allowed values of two options. `timeout=` is how long an input can deliver no video before it counts as
    /// lost. `return=` is how long a lost input must be healthy before it is used again.
    private static let timeouts = Duration.milliseconds(200)...Duration.seconds(60)
    private static let returns = Duration.zero...Duration.seconds(3600)
    private static let mostBackups = 8

    /// Parses the input in `text`.
    package init(_ text: String, secrets: SecretReferences = .process) throws(InputSpecificationError) {
        // `text` is split before secrets are inserted, so that no character of a secret is taken for a separator.
        let (address, fragment) = InputLocation.split(text)
        do {
            var options = try OptionList(behindMark: fragment, of: "input") { $0 }
            name = try options.takeName()
            standby = try options.takeChoice("standby", of: SourceSelector.Standby.self)
            (selection, selectionOption) = try Self.selection(taking: &options)
            if let standby { (selection.standby, selectionOption) = (standby, selectionOption ?? "standby") }
            let backups = options.takeAll("backup")
            whenOff = try options.takeChoice("when-off", of: WhenOff.self)
            (audio, audioOption) = try Self.audio(taking: &options)
            location = try Self.location(address, taking: &options, secrets)
            try options.finish()
            self.backups = try Self.backups(backups, secrets)
        } catch {
            throw InputSpecificationError("\(error)")
        }
        if let fault = location.fault { throw InputSpecificationError(fault) }
        if whenOff != nil, !location.isFile {
            throw InputSpecificationError("when-off= is for files, and \(location) is not a file.")
        }
        if standby != nil, location.isFile {
            throw InputSpecificationError("standby= is for live inputs: what \(location) does off air is when-off=.")
        }
        if location.isFile, text.contains("#backup=") {
            throw InputSpecificationError("backup= is for live inputs; a file's name may have any character.")
        }
    }

    private static func location(
        _ address: String, taking options: inout OptionList, _ secrets: SecretReferences
    ) throws -> InputLocation {
        try InputLocation(address: try secrets.expand(address), taking: &options, shownAs: address) {
            (text) throws(AddressError) in
            do throws(SecretReferenceError) {
                return try secrets.expand(text)
            } catch {
                throw AddressError(error.description)
            }
        }
    }

    private static func selection(taking options: inout OptionList) throws -> (SourceSelector.Options, given: String?) {
        var selection = SourceSelector.Options()
        var given: String?
        if let timeout = try options.takeTime("timeout", in: timeouts) {
            selection.timeout = timeout
            given = "timeout"
        }
        if let text = try options.take("return") {
            let never = "never"
            selection.returnAfter =
                text == never ? nil : try OptionList.time(text, of: "return", in: returns, or: never)
            given = "return"
        }
        return (selection, given)
    }

    private static func audio(taking options: inout OptionList) throws -> (Fader.Settings, given: String?) {
        var settings = Fader.Settings()
        var given: String?
        if let text = try options.take("gain") {
            guard let gain = Double(text), Fader.gains.contains(gain) else {
                throw options.error(
                    in: "gain", "is from \(Int(Fader.gains.lowerBound)) to \(Int(Fader.gains.upperBound)), in decibels")
            }
            settings.gain = gain
            given = "gain"
        }
        if let answer = try options.takeChoice("muted", of: Answer.self) {
            settings.isMuted = answer == .yes
            given = "muted"
        }
        return (settings, given)
    }

    private static func backups(
        _ texts: [String], _ secrets: SecretReferences
    ) throws(InputSpecificationError) -> [InputLocation] {
        guard texts.count <= mostBackups else {
            throw InputSpecificationError("backup= may be given \(mostBackups) times.")
        }
        var locations: [InputLocation] = []
        for (index, text) in texts.enumerated() {
            let (address, fragment) = InputLocation.split(text)
            do {
                var options = try OptionList(behindMark: fragment, of: "backup") { $0 }
                let location = try Self.location(address, taking: &options, secrets)
                try options.finish()
                if let fault = location.fault { throw InputSpecificationError(fault) }
                locations.append(location)
            } catch {
                throw InputSpecificationError("backup= number \(index + 1) is not usable: \(error)")
            }
        }
        return locations
    }
}
