// SPDX-License-Identifier: Apache-2.0

import Foundation
import Media

/// The samples in the fragments of a segment file, as a player reads them (ISO/IEC 14496-12, 8.8).
struct SegmentSamples {
    /// One sample, with times in ticks of its track: 90 kHz for video, 48 kHz for the tests' audio.
    struct Sample: Equatable {
        var track: TrackKind
        var dts: Int64
        var pts: Int64
    }

    private(set) var samples: [Sample] = []
    /// The sequence numbers of the fragments (8.8.5).
    private(set) var numbers: [Int] = []

    /// Reads the segment at `path`.
    init(_ path: String) throws {
        let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
        Self.boxes(bytes[...]) { type, body in
            guard type == "moof" else { return }
            Self.boxes(body) { type, body in
                if type == "mfhd" { numbers.append(Self.number(body, 4, 4)) }
                if type == "traf" { samples += Self.samples(body) }
            }
        }
    }

    private static func samples(_ traf: ArraySlice<UInt8>) -> [Sample] {
        var (track, duration, start) = (0, 0, Int64(0))
        var samples: [Sample] = []
        boxes(traf) { type, body in
            let flags = number(body, 1, 3)
            switch type {
            case "tfhd":
                track = number(body, 4, 4)
                let skipped = (flags & 1 != 0 ? 8 : 0) + (flags & 2 != 0 ? 4 : 0)
                if flags & 8 != 0 { duration = number(body, 8 + skipped, 4) }
            case "tfdt": start = Int64(number(body, 4, body.first == 1 ? 8 : 4))
            case "trun":
                var place = 8 + (flags & 1 != 0 ? 4 : 0) + (flags & 4 != 0 ? 4 : 0)
                func next(_ flag: Int) -> Int? {
                    guard flags & flag != 0 else { return nil }
                    defer { place += 4 }
                    return number(body, place, 4)
                }
                for _ in 0..<number(body, 4, 4) {
                    let length = next(0x100) ?? duration
                    _ = (next(0x200), next(0x400))
                    let offset = Int32(truncatingIfNeeded: next(0x800) ?? 0)
                    samples.append(
                        Sample(track: track == 1 ? .video : .audio, dts: start, pts: start + Int64(offset)))
                    start += Int64(length)
                }
            default: break
            }
        }
        return samples
    }

    private static func number(_ bytes: ArraySlice<UInt8>, _ offset: Int, _ count: Int) -> Int {
        bytes[(bytes.startIndex + offset)...].prefix(count).reduce(0) { $0 << 8 | Int($1) }
    }

    private static func boxes(_ bytes: ArraySlice<UInt8>, _ body: (String, ArraySlice<UInt8>) -> Void) {
        var rest = bytes
        while rest.count >= 8 {
            let size = max(8, min(number(rest, 0, 4), rest.count))
            let start = rest.startIndex
            body(String(decoding: rest[(start + 4)..<(start + 8)], as: UTF8.self), rest[(start + 8)..<(start + size)])
            rest = rest[(start + size)...]
        }
    }
}
