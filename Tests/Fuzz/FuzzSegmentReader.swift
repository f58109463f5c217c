// SPDX-License-Identifier: Apache-2.0

import Archive
import Glibc
import MP4

/// The function that libFuzzer calls with each input. `scripts/fuzz` compiles it with the targets `Media`, `MP4` and
/// `Archive`. The input is a file for `relay recordings verify`, `repair` and `export`. No input may cause a crash, a
/// hang or unbounded memory use.
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
            // The original file may have had no tags or no frames, so the repaired copy can lack them, too.
        }
        unlink("\(directory)/\(outcome.fileName)")
    }
    return 0
}

/// Reports much free space, because the files are small and the directory in memory is small, too.
private struct EndlessSpace: FreeSpaceProbe {
    func space(at path: String) throws(FileFailure) -> DiskSpace { DiskSpace(free: 1 << 50, capacity: 1 << 50) }
}

private enum FuzzDirectory {
    /// A directory in memory that the script makes, because a disk would be too slow for a million files a minute.
    static let path: String = {
        guard let path = getenv("RELAY_FUZZ_DIRECTORY") else { abort() }
        return String(cString: path)
    }()
}
