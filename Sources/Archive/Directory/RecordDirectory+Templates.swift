// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// The templates of names that were used in a record directory, which it notes in a hidden file: what was recorded under
/// an earlier one is still known by its name.
extension RecordDirectory {
    private static let templatesName = ".relay-names"
    /// More than these are not read, the newest last.
    private static let mostTemplates = 64

    /// The templates that the directory at `path` notes; none if there is no such file, or it cannot be read.
    static func notedTemplates(in path: String) -> [NameTemplate] {
        guard let file = try? FileDescriptor.open(readOnly: "\(path)/\(templatesName)"),
            let size = try? file.attributes(), size.isRegular,
            let bytes = try? file.read(at: 0, count: Int(min(size.size, 1 << 16)))
        else { return [] }
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n").suffix(mostTemplates)
        return lines.compactMap { try? NameTemplate(parsing: String($0)) }
    }

    /// Notes the template of the directory, unless it is the usual one or noted already. A full disk costs the note and
    /// nothing else: the template is known as long as it is used.
    func noteTemplate() {
        guard template != .standard, !Self.notedTemplates(in: path).contains(template) else { return }
        let flags = O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK
        let number = Glibc.open("\(path)/\(Self.templatesName)", flags, 0o644)
        guard number >= 0 else { return }
        defer { close(number) }
        // One call: another process may add its own.
        let line = Array("\(template.text)\n".utf8)
        _ = write(number, line, line.count)
    }
}
