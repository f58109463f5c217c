// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Ingest

/// Hides the secrets of the command line from process listings and from messages.
enum ArgumentMask {
    /// Overwrites those parts of addresses that may be secret, in the values of `flags`. The values are overwritten in
    /// the memory that the system shows as the process's command line. Call it only after the flags were parsed.
    static func hideSecrets(followingAny flags: Set<String>) {
        var hidesNext = false
        for index in 1..<max(1, Int(CommandLine.argc)) {
            guard let argument = CommandLine.unsafeArgv[index] else { continue }
            // This code uses bytes and not characters, because text that is not valid UTF-8 would change the offsets.
            let bytes = UnsafeBufferPointer(start: argument, count: strlen(argument)).map { UInt8(bitPattern: $0) }
            let flag = bytes.prefix { $0 != UInt8(ascii: "=") }
            let isJoined = flag.count < bytes.count && flags.contains(String(decoding: flag, as: UTF8.self))
            if hidesNext || isJoined {
                let visible = isJoined ? flag.count + 1 : 0
                for offset in secretRange(in: Array(bytes[visible...])) ?? 0..<0 {
                    argument[visible + offset] = CChar(UInt8(ascii: "x"))
                }
            }
            hidesNext = flags.contains(String(decoding: bytes, as: UTF8.self))
        }
    }

    /// Overwrites the complete values of `flags` in the memory of the command line. Call it only after the flags were
    /// parsed.
    static func hideValues(followingAny flags: Set<String>) {
        var hidesNext = false
        for index in 1..<max(1, Int(CommandLine.argc)) {
            guard let argument = CommandLine.unsafeArgv[index] else { continue }
            let bytes = UnsafeBufferPointer(start: argument, count: strlen(argument)).map { UInt8(bitPattern: $0) }
            let flag = bytes.prefix { $0 != UInt8(ascii: "=") }
            let isJoined = flag.count < bytes.count && flags.contains(String(decoding: flag, as: UTF8.self))
            let visible = isJoined ? flag.count + 1 : hidesNext ? 0 : bytes.count
            for offset in visible..<bytes.count { argument[offset] = CChar(UInt8(ascii: "x")) }
            hidesNext = flags.contains(String(decoding: bytes, as: UTF8.self))
        }
    }

    /// Overwrites those parts of addresses that may be secret, in the memory of the command line. Only an address that
    /// is a whole argument is overwritten, and not one that follows `=` in a flag. Call it only after the arguments
    /// were parsed.
    static func hideAddresses() {
        for index in 1..<max(1, Int(CommandLine.argc)) {
            guard let argument = CommandLine.unsafeArgv[index] else { continue }
            let bytes = UnsafeBufferPointer(start: argument, count: strlen(argument)).map { UInt8(bitPattern: $0) }
            guard bytes.first != UInt8(ascii: "-"), bytes.contains(UInt8(ascii: ":")) else { continue }
            for offset in secretRange(in: bytes) ?? 0..<0 { argument[offset] = CChar(UInt8(ascii: "x")) }
        }
    }

    /// Returns `message` with `***` in place of the parts of the addresses in `arguments` that may be secret.
    static func hidingSecrets(of arguments: [String], in message: String) -> String {
        arguments.reduce(message) { message, argument in
            let joined = argument.hasPrefix("-") ? argument.firstIndex(of: "=") : nil
            let address = joined.map { String(argument[argument.index(after: $0)...]) } ?? argument
            let bytes = Array(address.utf8)
            guard let range = secretRange(in: bytes), !range.isEmpty else { return message }
            let shown = String(decoding: bytes[..<range.lowerBound], as: UTF8.self) + "***"
            return message.replacing(address, with: shown)
        }
    }

    /// Returns the bytes of an address that may be secret; nil if no byte may be. They begin with the user and the
    /// password or, without these, after the host and the port, and extend to the end. In a filter graph (`lavfi:`),
    /// the value of the first option with the name of a credential, and everything after that value, is secret as well.
    static func secretRange(in address: [UInt8]) -> Range<Int>? {
        let range = addressRange(in: address)
        let isGraph = String(decoding: address.prefix(6), as: UTF8.self).lowercased() == "lavfi:"
        guard isGraph, let start = FilterGraphSecrets.start(in: address) else { return range }
        return min(start, range?.lowerBound ?? start)..<address.count
    }

    private static func addressRange(in address: [UInt8]) -> Range<Int>? {
        guard
            let authority = address.indices.lazy.compactMap({ authorityStart(in: address, after: $0) }).first
        else {
            // In an address without the two slashes, it is unknown which part is the host and which part is a key, so
            // everything after the colon may be secret.
            guard InputLocation(String(decoding: address, as: UTF8.self)).fault != nil,
                let colon = address.firstIndex(of: UInt8(ascii: ":"))
            else { return nil }
            return colon + 1..<address.count
        }
        // The `@` is searched for up to the `#`, and not only up to the first slash: a password may contain a slash
        // that was not escaped.
        let hasUser = address[authority...].prefix { $0 != UInt8(ascii: "#") }.contains(UInt8(ascii: "@"))
        if hasUser { return authority..<address.count }
        // In webhook addresses the signing secret follows the `#`.
        let isWeb = address.prefix(4).elementsEqual("http".utf8)
        let separators = [UInt8(ascii: "/"), UInt8(ascii: "?")] + (isWeb ? [UInt8(ascii: "#")] : [])
        guard let path = address[authority...].firstIndex(where: separators.contains) else { return nil }
        return path + 1..<address.count
    }

    /// Returns the index after the `://` that begins at `colon`; nil if no `://` begins there. Inside a filter, as in
    /// `lavfi:movie=rtmp\\://…`, backslashes and quotes may be between the three characters.
    private static func authorityStart(in address: [UInt8], after colon: Int) -> Int? {
        guard address[colon] == UInt8(ascii: ":") else { return nil }
        var slashes = 0
        for index in address.indices[(colon + 1)...] {
            switch address[index] {
            case UInt8(ascii: "/"): slashes += 1
            case let byte where FilterGraphSecrets.isEscape(byte): continue
            default: return nil
            }
            if slashes == 2 { return index + 1 }
        }
        return nil
    }
}
