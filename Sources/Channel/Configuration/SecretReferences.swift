// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Glibc

/// The reason why a reference to a secret cannot be replaced: one sentence, without any value.
package struct SecretReferenceError: Error, Equatable, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}

/// Inserts secrets into addresses and option values, so that no secret has to be in the command line.
///
/// `${NAME}` stands for an environment variable, `${file:/path}` for the content of a file without its final line
/// ending, and `$${` for the two characters `${`. A value is inserted unchanged: references, commas and number signs in
/// it have no meaning. A value that becomes part of a URL must be escaped as URLs require.
package struct SecretReferences: Sendable {
    /// The maximum size of a secret, in bytes: more than any key, address or passphrase needs.
    private static let mostBytes = 65_536

    private let variable: @Sendable (String) -> String?

    /// Creates references whose environment variables are read by `variable`.
    package init(variable: @escaping @Sendable (String) -> String?) { self.variable = variable }

    /// References whose environment variables are those of this process.
    package static let process = SecretReferences { name in getenv(name).map { String(cString: $0) } }

    /// Whether `text` contains a reference to a secret, or a text that resembles one.
    static func areIn(_ text: String) -> Bool { text.contains("${") }

    /// Returns `text` with the references replaced by the secrets. Reads files; throws if a secret cannot be read.
    package func expand(_ text: String) throws(SecretReferenceError) -> String {
        var (result, rest) = ("", text[...])
        while let mark = rest.firstRange(of: "${") {
            let before = rest[..<mark.lowerBound]
            if before.last == "$" {
                result += before.dropLast() + "${"
                rest = rest[mark.upperBound...]
                continue
            }
            guard let end = rest[mark.upperBound...].firstIndex(of: "}") else {
                throw SecretReferenceError("A ${ has no } behind it; the characters themselves are written $${.")
            }
            result += before + (try value(of: rest[mark.upperBound..<end]))
            rest = rest[rest.index(after: end)...]
        }
        return result + rest
    }

    private func value(of reference: Substring) throws(SecretReferenceError) -> String {
        if reference.hasPrefix("file:") { return try contents(of: String(reference.dropFirst("file:".count))) }
        let isName = reference.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") }
        guard isName, let first = reference.first, !first.isNumber else {
            // The error does not repeat the reference, which might be a piece of a key.
            throw SecretReferenceError(
                "Between ${ and } write the name of a variable, or file: and a path; the characters ${ themselves are "
                    + "written $${.")
        }
        guard let value = variable(String(reference)), !value.isEmpty else {
            throw SecretReferenceError("The environment's variable \(reference) is not set, or empty.")
        }
        return try checked(value, "The environment's variable \(reference)")
    }

    private func contents(of path: String) throws(SecretReferenceError) -> String {
        guard path.hasPrefix("/") else {
            throw SecretReferenceError("${file:…} takes a path from the root on, such as ${file:/etc/relay/key}.")
        }
        // O_NONBLOCK: if the file is a pipe, do not wait for a writer.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard descriptor >= 0 else { throw failure("cannot be read", path, errno) }
        defer { close(descriptor) }
        try checkPermissions(descriptor, path)
        var bytes = [UInt8](repeating: 0, count: Self.mostBytes + 1)
        var count = 0
        while count < bytes.count {
            let number = bytes.withUnsafeMutableBytes { buffer in
                let free = UnsafeMutableRawBufferPointer(rebasing: buffer[count...])
                return read(descriptor, free.baseAddress, free.count)
            }
            if number == 0 { break }
            guard number > 0 else { throw failure("cannot be read", path, errno) }
            count += number
        }
        guard count <= Self.mostBytes else { throw SecretReferenceError("The file \(path) is too long for a secret.") }
        if count > 0, bytes[count - 1] == UInt8(ascii: "\n") { count -= 1 }
        if count > 0, bytes[count - 1] == UInt8(ascii: "\r") { count -= 1 }
        guard count > 0 else { throw SecretReferenceError("The file \(path) is empty.") }
        guard let text = String(validating: bytes[..<count], as: UTF8.self) else {
            throw SecretReferenceError("The file \(path) is no text in UTF-8.")
        }
        return try checked(text, "The file \(path)")
    }

    /// Throws if other users can read the file, because its content is then no secret. A file in the service manager's
    /// directory of credentials is accepted even if its mode shows group permissions: these stem from an access control
    /// list, and only this process can read the file (systemd.exec(5), `LoadCredential=`).
    private func checkPermissions(_ descriptor: Int32, _ path: String) throws(SecretReferenceError) {
        guard let status = FileStatus(descriptor) else { throw failure("cannot be looked at", path, errno) }
        guard status.kind == .regular else { throw SecretReferenceError("\(path) is no file.") }
        if let credentials = variable("CREDENTIALS_DIRECTORY"), !credentials.isEmpty, path.hasPrefix(credentials + "/"),
            !path.split(separator: "/").contains("..")
        {
            return
        }
        guard !status.isOpenToOthers else {
            throw SecretReferenceError(
                "The file \(path) holds a secret, and others may read it: chmod 600 \(path) first.")
        }
    }

    private func failure(_ what: String, _ path: String, _ code: Int32) -> SecretReferenceError {
        SecretReferenceError("The file \(path) \(what): \(String(cString: strerror(code))).")
    }

    /// Refuses values of several lines. No address and no option has more than one line, so such a value comes from a
    /// wrong file.
    private func checked(_ value: String, _ what: String) throws(SecretReferenceError) -> String {
        guard value.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F }) else {
            throw SecretReferenceError("\(what) holds more than one line, or control characters.")
        }
        return value
    }
}
