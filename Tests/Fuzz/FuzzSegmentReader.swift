// SPDX-License-Identifier: Apache-2.0

import Archive
import Glibc
import MP4

/// What libFuzzer calls with each input, compiled with the targets `Media`, `MP4` and `Archive` by `scripts/fuzz`.
/// The input is a file as `relay recordings verify`, `repair` and `export` meet it; nothing in it may trap, hang or eat memory.
@_cdecl("LLVMFuzzerTestOneInput")
package func fuzzSegmentReader(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let directory = FuzzDirectory.path
    let path = "\(directory)/fuzz.mp4"
    let descriptor = open(path, O_RDWR | O_CREAT | O_TRUNC, 0o600)
    guard descriptor >= 0, pwrite(descriptor, bytes, count, 0) == count else { abort() }
    close(descriptor)
    _ = try? SegmentReader.read(path)
    _ = try? SegmentIndex.read(path)
    if let archive = try? RecordDirectory.existing(directory),
        let outcome = try? SegmentSalvage.run("fuzz.mp4", in: archive, probe: EndlessSpace())
    {
        do throws(SegmentReadFailure) {
            _ = try SegmentReader.read("\(directory)/\(outcome.fileName)")
        } catch .file {
            abort()
        } catch {
            // Its tags, or all of its frames, may have been lost before.
        }
        unlink("\(directory)/\(outcome.fileName)")
    }
    return 0
}

/// Memory is small, and so is what is salvaged in it.
private struct EndlessSpace: FreeSpaceProbe {
    func space(at path: String) throws(FileFailure) -> DiskSpace { DiskSpace(free: 1 << 50, capacity: 1 << 50) }
}

private enum FuzzDirectory {
    /// A directory in memory that the script makes: a million files a minute are no work for a disk.
    static let path: String = {
        guard let path = getenv("RELAY_FUZZ_DIRECTORY") else { abort() }
        return String(cString: path)
    }()
}
