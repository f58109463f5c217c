// SPDX-License-Identifier: Apache-2.0

internal import FanOut
internal import Media
internal import Publisher
internal import RTMP

/// Why an output's text cannot be used: one sentence, without what may be secret.
struct OutputSpecificationError: Error, Equatable, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// One live output as a flag gives it: `address#option=value,option=value`.
///
/// The options stand behind the first `#` that is not the `#!` with which SRT stream ids begin. In a value, a comma is
/// written `%2C`. The address and the values may hold references to secrets: see ``SecretReferences``.
struct OutputSpecification {
    /// What the flag said, without the options and with secrets in place: not to be shown.
    let text: String
    /// Unique among the outputs; `nil` for a name made of the protocol and a number.
    var name: String?
    var address: OutputAddress
    var backup: OutputAddress?
    var limits = QueueLimits.live
    var retry = RetryPolicy()

    /// The output in `specification`; where `schemes` are given, its address must have one of them. `standard` is how RTMP
    /// outputs reach their servers unless their options say otherwise.
    init(
        _ specification: String, schemes: [String] = [], standard: RTMPTransport = RTMPTransport(),
        secrets: SecretReferences = .process
    ) throws(OutputSpecificationError) {
        // Taken apart before secrets are put in, so that nothing in a secret divides it.
        let (unexpanded, fragment) = Self.split(specification)
        let text = try Self.expand(unexpanded, secrets)
        self.text = text
        var options = try Self.options(fragment, scheme: OutputAddress.scheme(of: text))
        for (name, value) in options { options[name] = try Self.expand(value, secrets) }
        name = try options.removeValue(forKey: "name").map(Self.name)
        if let queue = options.removeValue(forKey: "queue") {
            limits = QueueLimits.live.scaled(to: try Self.duration(queue, of: "queue", in: Self.queueRange))
        }
        if let bytes = options.removeValue(forKey: "queue-bytes") { limits.maximumBytes = try Self.bytes(bytes) }
        if let retry = options.removeValue(forKey: "retry") { self.retry.attemptLimit = try Self.attempts(retry) }
        let backup = options.removeValue(forKey: "backup")
        for option in ["backup-after", "primary-check"] where backup == nil && options[option] != nil {
            throw OutputSpecificationError("\(option)= needs backup= beside it.")
        }
        if let count = options.removeValue(forKey: "backup-after") {
            self.retry.backupAfter = try Self.number(count, of: "backup-after", in: 1...1000)
        }
        if let interval = options.removeValue(forKey: "primary-check") {
            self.retry.primaryInterval = try Self.duration(
                interval, of: "primary-check", in: .seconds(1)...(.seconds(3600)))
        }
        address = try OutputAddress(text, options: options, standard: standard)
        if !schemes.isEmpty, !schemes.contains(address.scheme) {
            throw OutputSpecificationError("The address must begin with \(schemes.joined(separator: ":// or "))://.")
        }
        if let backup {
            // What the options say of the protocol holds for both addresses, where the protocol is the same.
            let isSame = OutputAddress.scheme(of: backup) == address.scheme
            do throws(OutputSpecificationError) {
                self.backup = try OutputAddress(backup, options: isSame ? options : [:], standard: standard)
            } catch {
                throw OutputSpecificationError("backup= is not usable: \(error)")
            }
        }
    }

    private static func expand(
        _ text: String, _ secrets: SecretReferences
    ) throws(OutputSpecificationError) -> String {
        do throws(SecretReferenceError) {
            return try secrets.expand(text)
        } catch {
            throw OutputSpecificationError(error.description)
        }
    }

    private static let queueRange = Duration.milliseconds(300)...Duration.seconds(60)

    /// The address and the options behind it.
    private static func split(_ text: String) -> (String, Substring) {
        guard let mark = text.indices.first(where: { text[$0] == "#" && !text[$0...].hasPrefix("#!") }) else {
            return (text, "")
        }
        return (String(text[..<mark]), text[text.index(after: mark)...])
    }

    /// The options that every output knows.
    private static let common: Set = [
        "name", "queue", "queue-bytes", "retry", "backup", "backup-after", "primary-check",
    ]

    private static func options(
        _ text: Substring, scheme: String
    ) throws(OutputSpecificationError) -> [String: String] {
        var options: [String: String] = [:]
        let known = common.union(OutputAddress.options(of: scheme))
        for (index, pair) in text.split(separator: ",").enumerated() {
            let sides = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            // What is no option is not repeated: it may be a piece of a key in which a comma was not written %2C.
            guard known.contains(String(sides[0])) else {
                throw OutputSpecificationError(
                    "Option number \(index + 1) behind # is none that an address of this kind has; there are "
                        + known.sorted().map { $0 + "=" }.joined(separator: ", ") + ". Write a comma in a value as %2C."
                )
            }
            guard sides.count == 2, !sides[1].isEmpty else {
                throw OutputSpecificationError("The option \(sides[0])= has no value.")
            }
            guard options.updateValue(decode(sides[1]), forKey: String(sides[0])) == nil else {
                throw OutputSpecificationError("The option \(sides[0])= is given twice.")
            }
        }
        return options
    }

    private static func decode(_ text: Substring) -> String {
        String(text).replacing("%2C", with: ",").replacing("%2c", with: ",")
    }

    private static func name(_ text: String) throws(OutputSpecificationError) -> String {
        let isPlain = text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "-_.".contains($0)) }
        guard isPlain, text.count <= 40 else {
            throw OutputSpecificationError("name= takes at most 40 letters, digits, hyphens, dots and underscores.")
        }
        return text
    }

    private static func duration(
        _ text: String, of option: String, in range: ClosedRange<Duration>
    ) throws(OutputSpecificationError) -> Duration {
        guard let duration = try? DurationText(parsing: text).duration, range.contains(duration) else {
            throw OutputSpecificationError(
                "\(option)= is a time from \(DurationText(range.lowerBound)) to \(DurationText(range.upperBound)).")
        }
        return duration
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
