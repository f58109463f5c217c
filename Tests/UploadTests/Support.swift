// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport

@testable import Archive
@testable import Catalogue
@testable import Upload

extension TemporaryDirectory {
    func write(_ text: String, to name: String, isProgram: Bool = false) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: path(name)))
        if isProgram {
            try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path(name))
        }
    }

    func text(_ name: String) -> String {
        String(decoding: FileManager.default.contents(atPath: path(name)) ?? Data(), as: UTF8.self)
    }
}

extension SegmentRecord {
    /// A file of a thousand bytes.
    static func sample(_ name: String, number: Int = 1) -> SegmentRecord {
        SegmentRecord(
            fileName: name, channel: "test", sequence: number,
            start: UTCTime(milliseconds: 1_795_269_790_123 + Int64(number) * 1000), programStart: 0,
            programEnd: 2_000_000_000, frames: 50, audioSamples: 96_000, bytes: 1000, ending: .rotate, run: "run")
    }
}

extension CatalogueSegment {
    static func sample(_ name: String) -> CatalogueSegment {
        CatalogueSegment(record: .sample(name, number: 0))
    }
}

/// A delivery with scripted results, which records the files that it was asked for.
final class ScriptedDelivery: SegmentDelivery {
    private let answers: Mutex<[String: [String]]>
    private let asked = Mutex<[String]>([])
    private let isLater: Bool

    /// `failures` lists for each file the failures before its first success; with `isLater` they are postponements.
    init(failures: [String: [String]] = [:], isLater: Bool = false) {
        answers = Mutex(failures)
        self.isLater = isLater
    }

    var names: [String] { asked.withLock { $0 } }

    func deliver(_ segment: CatalogueSegment, at path: String, holding lock: UploadLock) async throws(DeliveryFailure)
        -> Delivered
    {
        asked.withLock { $0.append(segment.name) }
        let failure = answers.withLock { answers -> String? in
            guard answers[segment.name]?.isEmpty == false else { return nil }
            return answers[segment.name]?.removeFirst()
        }
        if let failure { throw DeliveryFailure(failure, isLater: isLater) }
        return Delivered(place: "remote:\(segment.name)", text: "done")
    }
}
