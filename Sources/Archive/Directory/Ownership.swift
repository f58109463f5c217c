// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Synchronization

/// Determines which files of a record directory are recordings of one channel.
///
/// Retention, recovery, the catalogue, uploads, sequence numbers and lists all use this type. A file is a recording of
/// the channel if three things agree:
/// - the directory: no directory between the record directory and the file is itself a record directory;
/// - the name: the name fits the directory's template, or a template that the directory used earlier;
/// - the content: the tags of an MP4, or the service description of a transport stream.
///
/// A file in doubt is not a recording of the channel. All calls block on the disk.
package final class Ownership: Sendable {
    /// What a file's name shows.
    enum NameMatch: Equatable {
        /// The name fits a template of the directory. The sequence is 0 if the name contains none.
        case certain(sequence: Int)
        /// The name could fit a template that consists only of fields and separators. An earlier version of relay,
        /// which did not store its templates, can have used such a template.
        case possible(sequence: Int)

        var sequence: Int {
            switch self {
            case .certain(let sequence), .possible(let sequence): sequence
            }
        }

        var isCertain: Bool { if case .certain = self { true } else { false } }
    }

    /// What the content of a file with a matching name shows.
    package enum Verdict: Sendable, Equatable {
        /// The file is a recording of the channel.
        case ours
        /// The file is empty or begins with zeros, as a crash can leave a file that was just created.
        case empty
        /// The file begins like a file of relay, but does not contain a channel, because its head is damaged.
        case unnamed
        /// The file is a recording of another channel, which is called `channel`.
        case other(channel: String)
        /// The file is not a recording of relay, or its name and its content contradict each other.
        case foreign
    }

    private let directory: RecordDirectory
    private let channel: String
    /// For each directory that was examined: whether it is itself a record directory. The keys are paths relative to
    /// the record directory.
    private let archives = Mutex<[Substring: Bool]>([:])

    /// Creates an object that decides which files in `directory` belong to `channel`. No file is read here. Results
    /// about nested directories are cached and can become outdated, so an object must be used for only one pass over
    /// the files.
    package init(_ directory: RecordDirectory, channel: String) {
        (self.directory, self.channel) = (directory, SegmentName.safe(channel))
    }

    /// Whether `fileName`, a path below the record directory, is a recording of the channel. The caller must know that
    /// the content is a recording. The file is opened only if its name leaves a doubt.
    package func matches(_ fileName: String) -> Bool {
        match(fileName).map { $0.isCertain || owns(fileName) ?? false } ?? false
    }

    /// Whether `fileName` is a recording of the channel; nil if the file cannot be read now.
    package func owns(_ fileName: String) -> Bool? {
        guard let match = match(fileName) else { return false }
        guard let file = try? directory.open(recording: fileName), let verdict = try? verdict(on: file, fileName, match)
        else { return nil }
        return verdict == .ours
    }

    /// Whether `fileName` can be a recording of the channel, even if its content is damaged or cannot be read now. The
    /// result is false if the name or the content shows that the file belongs to another channel, or that relay did not
    /// record it.
    package func mayOwn(_ fileName: String) -> Bool {
        guard let match = match(fileName) else { return false }
        guard let file = try? directory.open(recording: fileName), let verdict = try? verdict(on: file, fileName, match)
        else { return true }
        switch verdict {
        case .ours, .empty, .unnamed: return true
        case .other, .foreign: return false
        }
    }

    /// Returns what the file's name shows; nil if its name or its directory rules out a recording of the channel.
    func match(_ fileName: String) -> NameMatch? {
        let original = SegmentSalvage.originalName(fileName)
        let match: NameMatch
        if let name = directory.templates.lazy.compactMap({ self.name(original, $0) }).first {
            match = .certain(sequence: name.sequence)
        } else if isMadeOfFields(original) {
            match = .possible(sequence: Self.usualName(original)?.sequence ?? 0)
        } else {
            return nil
        }
        return isInOtherArchive(fileName) ? nil : match
    }

    /// Whether `fileName` fits a template that contains the channel, so that it can only be the name of a file of this
    /// channel. If a number was appended because the name was taken, the result is false: the number can be the end of
    /// another channel's name.
    package func isNamedAfterChannel(_ fileName: String) -> Bool {
        let original = SegmentSalvage.originalName(fileName)
        return directory.templates.contains { template in
            template.hasChannel && SegmentName(fileName: original, channel: channel, template: template) != nil
        }
    }

    /// Returns when the channel's file `fileName` began, by its name; nil if the name does not contain the start in
    /// UTC.
    package func start(of fileName: String) -> UTCTime? {
        directory.templates.lazy
            .compactMap { template in self.name(fileName, template).flatMap { UTCTime(basic: $0.start) } }.first
    }

    private func name(_ fileName: String, _ template: NameTemplate) -> SegmentName? {
        SegmentName(usedBy: fileName, channel: channel, template: template)
    }

    /// Whether a directory between the record directory and the file is itself a record directory.
    private func isInOtherArchive(_ fileName: String) -> Bool {
        fileName.indices.filter { fileName[$0] == "/" }.map { fileName[..<$0] }.contains { nested in
            if let isArchive = archives.withLock({ $0[nested] }) { return isArchive }
            let isArchive = RecordDirectory.isArchive("\(directory.path)/\(nested)")
            archives.withLock { $0[nested] = isArchive }
            return isArchive
        }
    }
}

// MARK: Content

extension Ownership {
    /// Returns what the content of the open `file` shows. `fileName` is its name, and `match` is what the name shows.
    func verdict(on file: FileDescriptor, _ fileName: String, _ match: NameMatch) throws(FileFailure) -> Verdict {
        let isStream = RecordDirectory.closedName(of: fileName).hasSuffix(RecordFormat.ts.fileExtension)
        switch try SegmentOrigin(of: file, isStream: isStream) {
        case .foreign: return .foreign
        case .nothing: return match.isCertain ? .empty : .foreign
        case .ours: break
        }
        guard match.isCertain else { return isStream ? stream(file, fileName) : movie(file, fileName) }
        if let owner = isStream ? file.streamChannel : file.channel { return verdict(owner) }
        return isStream && isNamedAfterChannel(fileName) ? .ours : .unnamed
    }

    private func verdict(_ owner: String) -> Verdict {
        SegmentName.safe(owner) == channel ? .ours : .other(channel: owner)
    }

    /// Judges an MP4 by its content. Two kinds of files are not recordings: an exported clip, which has its tags at its
    /// end, and a copy in a directory that is named after another time.
    private func movie(_ file: FileDescriptor, _ fileName: String) -> Verdict {
        guard let tags = file.recordingTags, isDated(fileName, tags.start) else { return .foreign }
        return verdict(tags.channel)
    }

    /// Judges a transport stream by its content. A stream does not contain its start time, so its name must contain it.
    private func stream(_ file: FileDescriptor, _ fileName: String) -> Verdict {
        guard let start = Self.usualName(fileName).flatMap({ UTCTime(basic: $0.start) }), isDated(fileName, start),
            let owner = file.streamChannel
        else { return .foreign }
        return verdict(owner)
    }
}

// MARK: Names of earlier templates

extension Ownership {
    /// Reads the last component of a path, if it has the standard form.
    private static func usualName(_ fileName: String) -> SegmentName? {
        SegmentName(fileName: String(fileName.split(separator: "/").last ?? ""))
    }

    /// Whether each component of the path consists only of the channel, digits and separators, and the last component
    /// contains at least six digits for a time of day or a number. Without these six digits no template makes distinct
    /// names.
    private func isMadeOfFields(_ fileName: String) -> Bool {
        guard let path = SegmentName.path(of: fileName) else { return false }
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
            .map { $0.replacing(channel, with: "") }
        return parts.count <= NameTemplate.deepest + 1
            && parts.allSatisfy { $0.allSatisfy { "0123456789-_.TZ".contains($0) } }
            && fileName.split(separator: "/").allSatisfy { !$0.hasPrefix(".") }
            && parts.last?.count(where: \.isNumber) ?? 0 >= 6
    }

    /// The offsets of time zones from UTC in quarters of an hour, the likely ones first.
    private static let zones = (-48...56).sorted { abs($0) < abs($1) }

    /// Whether the directories of `fileName` can be named after `start` in some time zone.
    private func isDated(_ fileName: String, _ start: UTCTime) -> Bool {
        let directories = fileName.split(separator: "/").dropLast()
            .map { $0.replacing(start.basic, with: "").replacing(channel, with: "") }
        return directories.isEmpty
            || Self.zones.contains { quarters in
                let local = UTCTime(milliseconds: start.milliseconds + Int64(quarters) * 900_000).calendar
                let texts = CalendarField.single.map { Array($0.text(local).utf8) }
                return directories.allSatisfy { directory in
                    directory.split { !$0.isNumber }.allSatisfy { Self.isMade($0, of: texts) }
                }
            }
    }

    /// Whether `digits` consists of some of `texts`, one after the other. Each position is examined only once: a name
    /// of hundreds of digits can be divided in too many ways to try all of them.
    private static func isMade(_ digits: Substring, of texts: [[UInt8]]) -> Bool {
        let digits = Array(digits.utf8)
        var isReached = [Bool](repeating: false, count: digits.count + 1)
        isReached[0] = true
        for place in digits.indices where isReached[place] {
            for text in texts where digits[place...].starts(with: text) { isReached[place + text.count] = true }
        }
        return isReached[digits.count]
    }
}
