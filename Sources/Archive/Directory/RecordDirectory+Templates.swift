// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// The name templates that were used in a record directory. They are stored in a hidden file, so that older recordings
/// are still recognized by their names.
extension RecordDirectory {
    private static let templatesName = ".relay-names"
    /// The maximum number of templates that are read: the newest ones.
    private static let mostTemplates = 64

    /// Returns the templates stored in the directory at `path`; empty if the file is missing or unreadable.
    static func notedTemplates(in path: String) -> [NameTemplate] {
        guard let file = try? FileDescriptor.open(readOnly: "\(path)/\(templatesName)"),
            let size = try? file.attributes(), size.isRegular,
            let bytes = try? file.read(at: 0, count: Int(min(size.size, 1 << 16)))
        else { return [] }
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n").suffix(mostTemplates)
        return lines.compactMap { try? NameTemplate(parsing: String($0)) }
    }

    /// Stores the template of the directory, unless it is the standard one or already stored. On a full disk this fails
    /// without further consequences: the template is known for as long as it is used.
    func noteTemplate() {
        guard template != .standard, !Self.notedTemplates(in: path).contains(template) else { return }
        let flags = O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK
        let number = Glibc.open("\(path)/\(Self.templatesName)", flags, 0o644)
        guard number >= 0 else { return }
        defer { close(number) }
        // Written in one call, because another process may add its own.
        let line = Array("\(template.text)\n".utf8)
        _ = write(number, line, line.count)
    }
}
