// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Media
import TestSupport
import Testing

@testable import Archive

/// How large a file can become. A recording needs to know that before, so that there is room for the file's index.
@Suite struct LargestSizeTests {
    // Regression: only powers of two were tried. On ext2 and ext3 with blocks of 1 KiB, which allow 16.06 GiB, the
    // result was 32 GiB, and a file that reached the limit could not be closed.
    @Test(arguments: [0, 1, 1 << 31 - 1, 1 << 32 - 1, 17_247_252_480, 1 << 40 - 1] as [Int64])
    func `The largest size is found exactly, whatever it is`(size: Int64) {
        #expect(FileDescriptor.largestSize { $0 <= size } == size)
    }

    @Test func `If a file may be as large as 1 TiB, its size counts as unlimited`() {
        #expect(FileDescriptor.largestSize { $0 <= 1 << 40 } == .max)
        #expect(FileDescriptor.largestSize { _ in true } == .max)
    }

    @Test(
        .enabled(if: geteuid() == 0, "only root can mount a file system"),
        arguments: [
            (["mkfs.ext2", "-q", "-b", "1024"], true),
            (["mkfs.vfat", "-F", "32", "-s", "1"], false),
        ])
    func `A file of the largest size can be written on a real file system, and one byte more cannot`(
        make: [String], isEverywhere: Bool
    ) throws {
        guard let disk = try LoopDisk(make: make) else {
            let isMissing = isEverywhere && ProcessInfo.processInfo.environment["CI"] != nil
            #expect(!isMissing, "\(make[0]) cannot make a file system, or it cannot be mounted")
            return
        }
        let file = try FileDescriptor.create("\(disk.path)/file")
        let size = file.largestSize()
        #expect(size < 1 << 40)
        let refused = #expect(throws: FileFailure.self) { try file.write([SharedBytes([1])], at: size) }
        #expect(refused?.code == EFBIG)
        // FAT has no holes, so the last byte of its largest file would need all bytes before it.
        if isEverywhere { try file.write([SharedBytes([1])], at: size - 1) } else { #expect(size == 1 << 32 - 1) }
    }

    // The limit applies to a whole process, so the test has one of its own.
    @Test func `The limit of the process applies if it is less than the file system's`() async {
        await #expect(processExitsWith: .success) {
            let directory = try TemporaryDirectory()
            let file = try FileDescriptor.create(directory.path("file"))
            var limit = rlimit()
            let resource = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
            let isRead = getrlimit(resource, &limit) == 0
            limit.rlim_cur = 5_000_000
            let isSet = setrlimit(resource, &limit) == 0
            #expect(isRead && isSet && file.largestSize() == 5_000_000)
        }
    }
}
