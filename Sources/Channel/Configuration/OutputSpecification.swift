// SPDX-License-Identifier: Apache-2.0

internal import FanOut
internal import Media
package import Networking
package import Publisher

/// The reason why an output's text cannot be used: one sentence, without parts that might be secret.
package struct OutputSpecificationError: Error, Equatable, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}

/// One live output in the syntax of the output flag: `address#option=value,option=value`.
///
/// The options follow the first `#` that is not part of `#!`, with which SRT stream ids begin. In a value, a comma is
/// written `%2C`. The address and the values can contain references to secrets: see ``SecretReferences``.
package struct OutputSpecification {
    /// The address as configured, without the options and with secrets inserted. It must not be shown.
    package let text: String
    /// The address and the options' values with secrets inserted. So this text changes when a secret changes. It must
    /// not be shown.
    package let identity: String
    /// The output's name, unique among the outputs; nil means that the name is made from the protocol and a number.
    var name: String?
    package var address: OutputAddress
    package var backup: OutputAddress?
    /// The rendition that the output takes; nil means the program's own encoding.
    package var rendition: String?
    var limits = QueueLimits.live
    var retry = RetryPolicy()

    /// Parses the output in `specification`. If `kind` is given, the address must be of that kind. `defaults` gives the
    /// values of settings that the options do not contain.
    package init(
        _ specification: String, kind: OutputKind? = nil, defaults: OutputDefaults = OutputDefaults(),
        secrets: SecretReferences = .process
    ) throws(OutputSpecificationError) {
        // `specification` is split before secrets are inserted, so that no character of a secret is taken for a
        // separator.
        let (unexpanded, fragment) = Self.split(specification)
        do {
            text = try secrets.expand(unexpanded)
            let title = OutputKind.of(text)?.title ?? "output"
            var values: [String] = []
            var options = try OptionList(behindMark: fragment, of: title) { value in
                values.append(try secrets.expand(value))
                return values[values.count - 1]
            }
            identity = ([text] + values).joined(separator: "\n")
            name = try options.takeName()
            rendition = try options.takeName("rendition")
            limits = try Self.limits(taking: &options)
            let backup = try options.take("backup")
            retry = try Self.retry(taking: &options, hasBackup: backup != nil)
            // `shared` has the options of the protocol. They apply to the address, and to the backup's address if that
            // has the same protocol.
            var shared = options
            address = try OutputAddress(text, options: &options, defaults: defaults)
            if let kind, kind.name != address.kind.name {
                throw OutputSpecificationError("The address must begin with \(kind.beginnings[0]).")
            }
            try options.finish()
            guard let backup else { return }
            if OutputKind.of(backup)?.name != address.kind.name { shared = OptionList([:], of: title) }
            do {
                self.backup = try OutputAddress(backup, options: &shared, defaults: defaults)
            } catch {
                throw OutputSpecificationError("backup= is not usable: \(error)")
            }
            // A backup is refused if the address or the backup listens: an output that listens never fails, so it would
            // never switch to a backup.
            guard address.destination.listening == nil, self.backup?.destination.listening == nil else {
                throw OutputSpecificationError(
                    "backup= is for outputs that call: rtmp-listen:// and SRT with mode=listener wait to be called.")
            }
        } catch {
            throw OutputSpecificationError("\(error)")
        }
    }

    /// The directories that the output and its backup write to.
    var directories: [String] { [address, backup].compactMap { $0?.destination.directory } }

    /// The options that outputs of every kind have.
    package static let options: [AddressOption] = [
        .init("name", "name", help: "name=youtube"),
        .init("rendition", "rendition", help: "rendition=archive (an encoding that --rendition names)"),
        .init("queue", "queue", .time, help: "queue=2s (what may wait for a slow target)"),
        .init("queueBytes", "queue-bytes", help: "queue-bytes=8MB"),
        .init("retry", "retry", help: "retry=forever or a number"),
        .init("backup", "backup", help: "backup=address (used while the first does not serve)"),
        .init("backupAfter", "backup-after", help: "backup-after=3 (failures in a row before that)"),
        .init(
            "primaryCheck", "primary-check", .time,
            help: "primary-check=15s (how often the first is looked at; it gets the stream back when it answers)"),
    ]

    /// Parses an output that was requested over the API. References to secrets are refused, because the client could
    /// have the secrets sent to an address of its own, or read them in an answer.
    package init(requested specification: String) throws(OutputSpecificationError) {
        if SecretReferences.areIn(specification) {
            throw OutputSpecificationError(
                "${…} is for the command line and the configuration file: write it out here.")
        }
        try self.init(specification)
    }

    private static func limits(taking options: inout OptionList) throws -> QueueLimits {
        var limits = QueueLimits.live
        if let queue = try options.takeTime("queue", in: queueRange) { limits = limits.scaled(to: queue) }
        if let bytes = try options.take("queue-bytes") { limits.maximumBytes = try Self.bytes(bytes) }
        return limits
    }

    private static func retry(taking options: inout OptionList, hasBackup: Bool) throws -> RetryPolicy {
        var retry = RetryPolicy()
        if let attempts = try options.take("retry") { retry.attemptLimit = try Self.attempts(attempts) }
        let count = try options.take("backup-after")
        let interval = try options.takeTime("primary-check", in: .seconds(1)...(.seconds(3600)))
        if !hasBackup, let option = count.map({ _ in "backup-after" }) ?? interval.map({ _ in "primary-check" }) {
            throw OutputSpecificationError("\(option)= needs backup= beside it.")
        }
        if let count { retry.backupAfter = try number(count, of: "backup-after", in: 1...1000) }
        if let interval { retry.primaryInterval = interval }
        return retry
    }

    private static let queueRange = Duration.milliseconds(300)...Duration.seconds(60)

    /// Returns the address in `text`, and the options after it.
    private static func split(_ text: String) -> (String, Substring) {
        guard let mark = text.indices.first(where: { text[$0] == "#" && !text[$0...].hasPrefix("#!") }) else {
            return (text, "")
        }
        return (String(text[..<mark]), text[text.index(after: mark)...])
    }

    private static func bytes(_ text: String) throws(OutputSpecificationError) -> Int {
        guard let size = try? ByteSize(parsing: text), (100_000...1_000_000_000).contains(size.bytes) else {
            throw OutputSpecificationError("queue-bytes= is a size from 100kB to 1GB.")
        }
        return Int(size.bytes)
    }

    private static func attempts(_ text: String) throws(OutputSpecificationError) -> Int? {
        text == "forever" ? nil : try number(text, of: "retry", in: 0...1_000_000)
    }

    private static func number(
        _ text: String, of option: String, in range: ClosedRange<Int>
    ) throws(OutputSpecificationError) -> Int {
        guard let number = Int(text), range.contains(number) else {
            throw OutputSpecificationError("\(option)= is a number from \(range.lowerBound) to \(range.upperBound).")
        }
        return number
    }
}
