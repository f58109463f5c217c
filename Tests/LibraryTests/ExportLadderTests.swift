// SPDX-License-Identifier: Apache-2.0

import Archive
import MP4
import RecordingSamples
import Stitcher
import TestSupport
import Testing

@testable import Library

@Suite("Copying or stitching an export")
struct ExportLadderTests {
    private let place: TemporaryDirectory

    init() throws { place = try TemporaryDirectory() }

    private var output: String { place.path("out.mp4") }

    // MARK: The order of the ways

    /// The ways that are tried for `contents` if each way but the last fails because of the next of `obstacles`.
    private func ways(
        _ contents: ExportContents, _ ends: ExportEnds, _ obstacles: ExportRung.Obstacle...
    ) throws -> [ExportRung?] {
        var rung: ExportRung? = try ExportRung.first(for: contents, ends)
        return [rung]
            + obstacles.map { obstacle in
                rung = rung?.next(after: obstacle, ends)
                return rung
            }
    }

    private let range = ExportContents(recorded: RecordedRange(files: [], range: 0..<1), clips: [], notes: [])

    @Test("An export first tries to copy a single range, and stitches several ranges")
    func first() throws {
        for (ends, isExact) in [(ExportEnds.copied, false), (.widened, false), (.cheap, true), (.exact, true)] {
            #expect(try ways(range, ends) == [.copy(isExact: isExact)])
            #expect(try ways(ExportContents(clips: [], notes: []), ends) == [.stitch(isCheap: false)])
        }
    }

    @Test("A range of MPEG-TS is stitched, or refused if nothing may be re-encoded")
    func streams() throws {
        var stream = ExportContents(clips: [], notes: [])
        stream.isStream = true
        for ends in ExportEnds.allCases where ends != .copied {
            #expect(try ways(stream, ends) == [.stitch(isCheap: false)])
        }
        #expect(throws: ClipFailure("MPEG-TS is coded again for a clip, and that is not wanted.")) {
            try ways(stream, .copied)
        }
    }

    @Test("Files with different codec configurations are stitched, or refused if nothing may be re-encoded")
    func differences() throws {
        for (ends, isExact) in [(ExportEnds.widened, false), (.cheap, true), (.exact, true)] {
            #expect(
                try ways(range, ends, .difference) == [.copy(isExact: isExact), .stitch(isCheap: false)])
        }
        #expect(try ways(range, .copied, .difference) == [.copy(isExact: false), nil])
    }

    @Test(
        "A range from another encoder is stitched for exact ends, or copied with more frames if that is too costly"
    )
    func encoders() throws {
        #expect(
            try ways(range, .cheap, .encoder, .cost)
                == [.copy(isExact: true), .stitch(isCheap: true), .copy(isExact: false)])
        #expect(try ways(range, .exact, .encoder, .cost) == [.copy(isExact: true), .stitch(isCheap: false), nil])
        #expect(try ways(range, .cheap, .encoder, .cost, .encoder).last == .some(nil))
    }

    // MARK: With files

    /// Writes recordings that begin `late` seconds after the start of their common program. The last of several
    /// recordings has the frame width `width`.
    private func contents(_ late: Int64..., from: Int64, to: Int64, width: Int = 320) throws -> ExportContents {
        let start = SampleRecording.start.milliseconds
        var files: [(path: String, name: String)] = []
        for (number, begin) in late.enumerated() {
            let isLast = number > 0 && number == late.count - 1
            let recording = SampleRecording(ending: .rotate, late: begin, width: isLast ? width : 320)
            try place.write(recording.closed, to: "\(number).mp4")
            files.append((place.path("\(number).mp4"), "\(number).mp4"))
        }
        return ExportContents(
            recorded: RecordedRange(files: files, range: start + from..<start + to),
            clips: files.map { StitchClip(path: $0.path) }, notes: [])
    }

    /// The result of making `contents`, and the obstacles of the ways that failed before it.
    private func made(
        _ contents: ExportContents, _ ends: ExportEnds
    ) -> (result: Result<ExportResult, any Error>, obstacles: [ExportRung.Obstacle]) {
        var obstacles: [ExportRung.Obstacle] = []
        let request = StitchRequest(output: output, replaces: true, version: "1")
        let result = Result {
            try contents.make(ends, request, progress: { _, _ in }, isCancelled: { false }) { obstacle, _ in
                obstacles.append(obstacle)
            }
        }
        return (result, obstacles)
    }

    @Test(
        "A range that begins and ends at keyframes is copied, whichever kind of ends is requested",
        arguments: ExportEnds.allCases)
    func aligned(ends: ExportEnds) throws {
        let (result, obstacles) = made(try contents(0, 4, from: 1000, to: 6000), ends)
        let made = try result.get()
        guard case .copied(let report) = made.report else { throw ClipFailure("It was stitched.") }
        #expect(obstacles.isEmpty && report.copiedFrames == 125 && report.encodedFrames == 0)
        #expect(report.files == 2 && report.gaps.isEmpty && report.widenedStart == 0 && report.widenedEnd == 0)
        let index = try SegmentIndex.read(output)
        #expect(index.facts.frames == 125 && index.facts.duration == 5_000_000_000)
        #expect(made.details.isEmpty && made.frames == (125, 0) && made.milliseconds == 5000)
    }

    @Test("A range that begins within another encoder's GOP is extended, unless exact ends are required")
    func within() throws {
        let contents = try contents(0, from: 1500, to: 3000)
        for ends in [ExportEnds.copied, .widened] {
            let (result, obstacles) = made(contents, ends)
            let details = try result.get().details
            #expect(obstacles.isEmpty && details == ["it begins 500 ms earlier than asked for"], "\(details)")
        }
        let cheap = made(contents, .cheap)
        let result = try cheap.result.get()
        #expect(cheap.obstacles == [.encoder, .cost] && !result.isExact && result.frames == (50, 0))
        #expect(result.details.first == "it begins 500 ms earlier than asked for")
        #expect(result.details.last?.hasPrefix("its ends are not exact: ") == true, "\(result.details)")
        // The frames of these files cannot be decoded, so stitching fails.
        let exact = made(contents, .exact)
        #expect(exact.obstacles == [.encoder])
        #expect(throws: (any Error).self) { try exact.result.get() }
    }

    @Test("A range with a gap is copied, and the gap is reported", arguments: ExportEnds.allCases)
    func gaps(ends: ExportEnds) throws {
        let (result, obstacles) = made(try contents(0, 10, from: 0, to: 12_000), ends)
        let made = try result.get()
        #expect(obstacles.isEmpty && made.frames == (150, 0) && made.milliseconds == 12_000)
        #expect(made.details.count == 1, "\(made.details)")
        #expect(made.details.first?.hasPrefix("nothing was recorded from") == true, "\(made.details)")
    }

    @Test("Files of different frame sizes are not copied into one export")
    func difference() throws {
        let contents = try contents(0, 4, from: 1000, to: 6000, width: 640)
        for ends in ExportEnds.allCases {
            let (result, obstacles) = made(contents, ends)
            let error = #expect(throws: (any Error).self) { try result.get() }
            #expect(obstacles == (ends == .copied ? [] : [.difference]))
            guard ends == .copied else { continue }
            #expect((error as? ClipFailure)?.description.hasSuffix("it has another frame size.") == true)
        }
    }

    @Test(
        "A damaged file makes an export fail at the first attempt, and the error names the file",
        arguments: ExportEnds.allCases)
    func damaged(ends: ExportEnds) throws {
        let contents = try contents(0, 4, from: 1000, to: 6000)
        try place.write(Array(try place.bytes("1.mp4").prefix(3000)), to: "1.mp4")
        let (result, obstacles) = made(contents, ends)
        let error = #expect(throws: ClipFailure.self) { try result.get() }
        #expect(obstacles.isEmpty && error?.description.hasPrefix("1.mp4 cannot be used: ") == true)
        #expect(place.all.sorted() == ["0.mp4", "1.mp4"])
    }

    @Test(
        "If the export's file exists already, the export fails at the first attempt and leaves that file unchanged",
        arguments: ExportEnds.allCases)
    func taken(ends: ExportEnds) throws {
        try place.write([7], to: "out.mp4")
        var tried = 0
        let contents = try contents(0, from: 1000, to: 2000)
        #expect(throws: FileFailure.self) {
            try contents.make(
                ends, StitchRequest(output: output, replaces: false, version: "1"), progress: { _, _ in },
                isCancelled: { false }, stepped: { _, _ in tried += 1 })
        }
        #expect(tried == 0)
        #expect(try place.bytes("out.mp4") == [7])
    }

    @Test("A cancelled export leaves no file, and is not tried in another way", arguments: ExportEnds.allCases)
    func cancelled(ends: ExportEnds) throws {
        var (asked, tried) = (0, 0)
        let contents = try contents(0, from: 0, to: 4000)
        let error = #expect(throws: ClipFailure.self) {
            try contents.make(
                ends, StitchRequest(output: output, replaces: false, version: "1"), progress: { _, _ in },
                isCancelled: {
                    asked += 1
                    return asked > 2
                }, stepped: { _, _ in tried += 1 })
        }
        #expect(error?.isCancellation == true && tried == 0 && place.all == ["0.mp4"])
    }
}
