// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Kernels
import Media

@testable import Control
@testable import Program
@testable import Studio

/// The function that libFuzzer calls with each input. `scripts/fuzz --of api` compiles it with the files that parse
/// requests of the HTTP API. The first byte selects what is tested with the rest. No input may cause a crash, a hang,
/// unbounded memory use, or a refusal without a sentence.
@_cdecl("LLVMFuzzerTestOneInput")
package func fuzzAPI(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    guard count > 2 else { return 0 }
    let input = Array(UnsafeBufferPointer(start: start, count: count))
    let bytes = Array(input.dropFirst(2))
    switch FuzzCase.given ?? Int(input[0] % 4) {
    case 0: readBody(bytes, Int(input[1]))
    case 1: readRunDown(bytes, canName: input[1] & 1 == 0)
    case 2: readHead(String(decoding: bytes, as: UTF8.self))
    default: readQuery(String(decoding: bytes, as: UTF8.self))
    }
    return 0
}

private enum FuzzCase {
    /// The only case to test, if the environment names one.
    static let given = getenv("RELAY_FUZZ_CASE").flatMap { Int(String(cString: $0)) }
    /// A directory in memory that the script makes.
    static let directory = getenv("RELAY_FUZZ_DIRECTORY").map { String(cString: $0) } ?? "/dev/shm"
}

// MARK: Bodies

/// Decodes a request body as the type that `kind` selects.
private func readBody(_ bytes: [UInt8], _ kind: Int) {
    switch kind % 13 {
    case 0: read(ProgramRequest.self, bytes, check)
    case 1: read(OverlayRequest.self, bytes) { _ in }
    case 2: read(SourceRequest.self, bytes) { _ in }
    case 3: read(NewStitch.self, bytes, check)
    case 4: read(NewClip.self, bytes, check)
    case 5: read(ClipStop.self, bytes, check)
    case 6: read(NewClipName.self, bytes) { _ = try ClipName.checked($0.name) }
    case 7: read(NewClipExport.self, bytes) { _ in }
    case 8: read(NewExport.self, bytes, check)
    case 9: read(NewRoom.self, bytes) { require(try $0.checked() > 0) }
    case 10: read(OutputChange.self, bytes) { _ in }
    case 11: read(NewMarker.self, bytes) { require(try !$0.checked().utf8.contains(0)) }
    default:
        read(NewOutput.self, bytes) { _ in }
        read(NewCheck.self, bytes) { _ in }
        read(NewSession.self, bytes) { _ in }
    }
}

/// Decodes a body. A refusal must have a sentence for the client; any other error would be a fault of the server.
private func read<Body: Decodable>(_ type: Body.Type, _ bytes: [UInt8], _ check: (Body) throws -> Void) {
    do {
        try check(try JSON.decode(type, from: Data(bytes.prefix(JSON.mostBytes))))
    } catch let refusal as Refusal {
        require([.malformed, .unusable].contains(refusal.kind) && refusal.detail.hasSuffix("."))
    } catch {
        abort()
    }
}

private func check(_ request: ProgramRequest) {
    guard case .laidOut(let layout)? = request.scene, (try? layout.check()) != nil else { return }
    let places = layout.placements(in: .bt709)
    require(places.count == layout.sources.count)
    for place in places {
        let area = place.destination
        require((0...1).contains(area.x) && (0...1).contains(area.y) && area.width <= 1 && area.height <= 1)
    }
}

private func check(_ request: NewStitch) throws {
    try request.check()
    require((1...1000).contains(request.clips.count))
    for part in request.clips {
        require(part.id.utf8.allSatisfy { $0 > 32 && $0 < 127 && $0 != UInt8(ascii: "/") })
        require(abs(part.audioOffset ?? 0) <= 10 && (part.skipStart ?? 0) >= 0 && (part.skipEnd ?? 0) >= 0)
        _ = Duration.seconds(part.audioOffset ?? 0)
    }
}

private func check(_ request: NewClip) throws {
    try request.check()
    require((0...600).contains(request.before ?? 0) && (0...31_536_000).contains(request.at ?? 0))
    require(request.name.map { !$0.utf8.contains(0) && !$0.utf8.contains(UInt8(ascii: "/")) } ?? true)
}

private func check(_ request: ClipStop) throws {
    if let at = try ClipMoment.checked(request.at) { require((0...31_536_000).contains(at)) }
}

private func check(_ request: NewExport) throws {
    let (range, _) = try request.checked()
    require(!range.isEmpty && range.count <= 86_400_000 && ClockTime.all.contains(range.lowerBound))
}

/// Parses a run-down. Every accepted segment must be playable, and a refusal must have a line for each error.
private func readRunDown(_ bytes: [UInt8], canName: Bool) {
    guard let text = String(validating: bytes, as: UTF8.self) else { return }
    let names = canName ? ["cam1", "cam2", "cam3"] : []
    let known = RunDownReader.Known(
        sources: names, unseen: ["mic"], scenes: [("both", SceneLayout(.pip, ["cam1", "cam2"]))], overlays: ["logo"],
        stingers: ["wipe"])
    do throws(ConfigurationFailure) {
        let files = RunDownFiles(directory: FuzzCase.directory, isConfined: true)
        let runDown = try RunDownReader.read(text, name: "rundown", known: known, files: files)
        require((1...RunDown.mostSegments).contains(runDown.segments.count))
        for segment in runDown.segments {
            require(segment.fault(sources: known.sources, unseen: known.unseen) == nil)
            require(segment.change.frames(at: FrameRate(25, 1)) >= 0)
        }
    } catch {
        require(!error.faults.isEmpty && error.lines.count == error.faults.count)
    }
}

func require(_ condition: Bool) {
    if !condition { abort() }
}
